"""The doctor: looks at an installation from its settings to its proxy, and changes nothing."""
