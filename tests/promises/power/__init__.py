"""Loss of power: on a real file system (`disk`, long suite) and in a model of one (`crash_states`, every run)."""
