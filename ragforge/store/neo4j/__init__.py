"""The store in a graph of Neo4j: one server, Aura or a cluster, shared by people and machines."""
