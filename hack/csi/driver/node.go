package main

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
)

// NodeGetInfo implements csi.NodeServer.
func (d *driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: d.node, AccessibleTopology: d.topology()}, nil
}

// NodeGetCapabilities implements csi.NodeServer.
func (*driver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	answer := &csi.NodeGetCapabilitiesResponse{}
	for _, kind := range []csi.NodeServiceCapability_RPC_Type{
		csi.NodeServiceCapability_RPC_EXPAND_VOLUME,
		csi.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	} {
		answer.Capabilities = append(answer.Capabilities, &csi.NodeServiceCapability{
			Type: &csi.NodeServiceCapability_Rpc{Rpc: &csi.NodeServiceCapability_RPC{Type: kind}},
		})
	}
	return answer, nil
}

// NodePublishVolume implements csi.NodeServer.
func (d *driver) NodePublishVolume(_ context.Context, request *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	if request.VolumeId == "" {
		return nil, missing("volume_id")
	}
	if request.TargetPath == "" {
		return nil, missing("target_path")
	}
	if err := supported(request.VolumeCapability); err != nil {
		return nil, err
	}
	return &csi.NodePublishVolumeResponse{}, d.volumes.publish(request.VolumeId, request.TargetPath, request.Readonly)
}

// NodeUnpublishVolume implements csi.NodeServer.
func (d *driver) NodeUnpublishVolume(_ context.Context, request *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	if request.VolumeId == "" {
		return nil, missing("volume_id")
	}
	if request.TargetPath == "" {
		return nil, missing("target_path")
	}
	return &csi.NodeUnpublishVolumeResponse{}, d.volumes.unpublish(request.TargetPath)
}

// NodeExpandVolume implements csi.NodeServer.
func (d *driver) NodeExpandVolume(_ context.Context, request *csi.NodeExpandVolumeRequest) (*csi.NodeExpandVolumeResponse, error) {
	if request.VolumeId == "" {
		return nil, missing("volume_id")
	}
	if request.VolumePath == "" {
		return nil, missing("volume_path")
	}
	size, err := d.volumes.grow(request.VolumeId, request.CapacityRange)
	if err != nil {
		return nil, err
	}
	return &csi.NodeExpandVolumeResponse{CapacityBytes: size}, nil
}
