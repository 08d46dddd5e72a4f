"""From points to an offer: the policy, what it decides, what it lends, and what that costs."""
