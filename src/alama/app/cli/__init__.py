"""The front door of the command line, and the commands of several rooms."""
