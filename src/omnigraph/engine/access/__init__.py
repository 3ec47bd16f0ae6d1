"""Access control of a graph: who calls, what each verb needs, and the gate in front of every verb."""
