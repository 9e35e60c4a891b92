"""An example of a package that extends riftsim."""
