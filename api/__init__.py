"""The api: what the store holds, as metrics and as answers for people. It counts nothing itself."""
