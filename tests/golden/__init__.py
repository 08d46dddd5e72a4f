"""The golden corpus: a frozen model, requests, and the answers every later version must give."""
