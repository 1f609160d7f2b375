"""The api: what the store holds, as metrics, as JSON and as pages of the console; it counts nothing itself.

``signals`` reads the store, ``browsing`` reads Kafka, ``auth`` says who calls, ``routes`` and ``metrics``
answer, ``checks`` is what ``deadwatch doctor`` and the console examine. ``app`` puts it together.
"""
