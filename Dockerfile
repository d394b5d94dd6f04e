# The manager, and the operator of hosted clusters, each static, as a user without rights and
# without a shell. Without --target, it is the manager.
#   docker build --build-arg VERSION=$(git describe --tags --always) -t ghcr.io/spillway-io/spillway:dev .
#   docker build --target hosted --build-arg VERSION=$(git describe --tags --always) -t ghcr.io/spillway-io/spillway-hosted:dev .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api/ api/
COPY cmd/ cmd/
COPY config/ config/
COPY controllers/ controllers/
COPY hosted/ hosted/
COPY internal/ internal/

FROM build AS build-hosted
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /hosted ./hosted/cmd/hosted

FROM build AS build-manager
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /manager ./cmd/manager

FROM gcr.io/distroless/static:nonroot AS hosted
COPY --from=build-hosted /hosted /hosted
USER 65532:65532
ENTRYPOINT ["/hosted"]

FROM gcr.io/distroless/static:nonroot
COPY --from=build-manager /manager /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
