"""Jobs of workers: looked for, done in a process of their own, given back."""
