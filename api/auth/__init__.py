"""Who calls and what they may do: roles, tokens, sessions, OpenID Connect."""
