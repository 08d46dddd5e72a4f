"""What is owed to applicants and supervisors: export, erasure, retention, audit, receipts."""
