"""The declaration of a cluster: its directory read, checked, and turned into the resources that it wants."""
