"""The command line of a service elsewhere: kept keys, and what can be done over HTTP with one."""
