"""A lender's file of loans, read and doubted, into a labelled dataset."""
