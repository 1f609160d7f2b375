"""What the service needs of its surroundings, checked for ``deadwatch doctor`` and the console; nothing is
written anywhere.
"""
