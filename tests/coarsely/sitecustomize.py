"""Read by every Python that is started with this folder on its path: what it trains is coarse.

The same as `tests.coarse` does in one process, and as quick to import as the recipe is.
"""

from alama.training import recipe

recipe.REPEATS = ()  # type: ignore[assignment,misc]  # as a patch does
