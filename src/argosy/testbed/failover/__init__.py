"""Stateless replicas behind HAProxy: users see no error when replicas drain or are killed, and queues are as long as predicted.

`trace` says which requests come when and what they take; `replica` serves them and `load` sends them, both in hosts of the
testbed (`stage`); `proxy` writes HAProxy's configuration and reads its log; `predict` asks the fleet simulation about the same
requests, and `cases` hold one against the other.
"""
