# syntax=docker/dockerfile:1
# Deadwatch: one image for all its processes. The chart and docker/compose.yaml say which one runs.
#
# The base is pinned by its digest, which is asked for: the tag alone may be another image tomorrow.
#   docker build --build-arg PYTHON_DIGEST=sha256:… --build-arg REVISION=$(git rev-parse HEAD) -t deadwatch:1.0.0 .
ARG PYTHON_TAG=3.12-slim-bookworm
ARG PYTHON_DIGEST=sha256:0000000000000000000000000000000000000000000000000000000000000000

FROM python:${PYTHON_TAG}@${PYTHON_DIGEST} AS build
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# Debian keeps one version of a package in a release, and removes it when there is a fix: none can be named here.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN sh docker/install.sh /opt/deadwatch

FROM python:${PYTHON_TAG}@${PYTHON_DIGEST}
ARG VERSION=1.0.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Deadwatch" \
      org.opencontainers.image.description="Sees, explains and puts back what Kafka gives up on" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless tini \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 deadwatch \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin deadwatch \
    && install -d -o 10001 -g 10001 /var/lib/deadwatch
COPY --from=build /opt/deadwatch /opt/deadwatch
ENV PATH=/opt/deadwatch/venv/bin:$PATH \
    DEADWATCH_CACHE=/opt/deadwatch/cache \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /var/lib/deadwatch
VOLUME ["/var/lib/deadwatch"]
EXPOSE 8000 8080
STOPSIGNAL SIGTERM
ENTRYPOINT ["/opt/deadwatch/bin/entrypoint"]
CMD ["deadwatch", "--help"]
