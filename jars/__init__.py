"""The Java archives the project runs on: Spark's Kafka connector, a broker, Connect and Streams, Jolokia.

They are resolved once by Ivy into a cache outside the repository; everything else asks here for paths.
"""

from jars.cache import Conf, JarsError, classpath, directory, files
from jars.java import BrokenJavaError, JavaError, find_java
from jars.resolve import resolve

__all__ = [
    "BrokenJavaError",
    "Conf",
    "JarsError",
    "JavaError",
    "classpath",
    "directory",
    "files",
    "find_java",
    "resolve",
]
