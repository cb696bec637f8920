# Maskwright in a container: docs/how-to/containers.md tells how to build and use it.
ARG BASE=python:3.13-slim-bookworm

FROM ${BASE} AS build
# Extras to install with it, separated by commas: --build-arg EXTRAS=excel,figures
ARG EXTRAS=""
# Kernels are compiled for any processor of this kind: the image runs elsewhere than where it is built.
ENV NUMBA_CPU_NAME=generic \
    NUMBA_CACHE_DIR=/opt/maskwright/kernels \
    PYTHONDONTWRITEBYTECODE=1
COPY . /source
RUN python -m venv /opt/maskwright \
    && MASKWRIGHT_KERNELS=none /opt/maskwright/bin/pip install --no-cache-dir --compile "/source${EXTRAS:+[${EXTRAS}]}" \
    && /opt/maskwright/bin/pip check
# What libraries test themselves with is a seventh of what is installed, and nothing here imports it.
RUN python /source/packaging/without_tests.py /opt/maskwright \
    && /opt/maskwright/bin/pip uninstall --yes pip
# The same runs as before the tests; whoever runs the container may add to what they compile.
RUN mkdir --parents "${NUMBA_CACHE_DIR}" \
    && /opt/maskwright/bin/python /source/tests/compile_kernels.py partitions \
    && /opt/maskwright/bin/python /source/tests/compile_kernels.py others \
    && /opt/maskwright/bin/maskwright demo /tmp/demo \
    && chmod --recursive a+rwX "${NUMBA_CACHE_DIR}"

FROM ${BASE}
LABEL org.opencontainers.image.title="Maskwright" \
      org.opencontainers.image.description="Statistical disclosure control that keeps edit constraints" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/maskwright/maskwright"
RUN useradd --uid 10001 --create-home maskwright \
    && chmod 1777 /home/maskwright \
    && mkdir /work \
    && chown maskwright:maskwright /work
COPY --from=build /opt/maskwright /opt/maskwright
ENV PATH=/opt/maskwright/bin:${PATH} \
    HOME=/home/maskwright \
    NUMBA_CPU_NAME=generic \
    NUMBA_CACHE_DIR=/opt/maskwright/kernels \
    PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /work
ENTRYPOINT ["maskwright"]
CMD ["--help"]
