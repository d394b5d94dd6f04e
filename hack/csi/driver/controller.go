package main

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ControllerGetCapabilities implements csi.ControllerServer.
func (*driver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	answer := &csi.ControllerGetCapabilitiesResponse{}
	for _, kind := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_EXPAND_VOLUME,
		csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	} {
		answer.Capabilities = append(answer.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: kind}},
		})
	}
	return answer, nil
}

// CreateVolume implements csi.ControllerServer. The ID of a volume is its name.
func (d *driver) CreateVolume(_ context.Context, request *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	if request.VolumeContentSource != nil {
		return nil, status.Error(codes.InvalidArgument, "volumes are made empty: there are neither clones nor snapshots")
	}
	if err := supported(request.VolumeCapabilities...); err != nil {
		return nil, err
	}
	size, err := d.volumes.create(request.Name, request.CapacityRange)
	if err != nil {
		return nil, err
	}
	return &csi.CreateVolumeResponse{Volume: &csi.Volume{
		VolumeId: request.Name, CapacityBytes: size, AccessibleTopology: []*csi.Topology{d.topology()},
	}}, nil
}

// DeleteVolume implements csi.ControllerServer.
func (d *driver) DeleteVolume(_ context.Context, request *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	if request.VolumeId == "" {
		return nil, missing("volume_id")
	}
	return &csi.DeleteVolumeResponse{}, d.volumes.remove(request.VolumeId)
}

// ValidateVolumeCapabilities implements csi.ControllerServer.
func (d *driver) ValidateVolumeCapabilities(_ context.Context, request *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	if request.VolumeId == "" {
		return nil, missing("volume_id")
	}
	if len(request.VolumeCapabilities) == 0 {
		return nil, missing("volume_capabilities")
	}
	if _, err := d.volumes.size(request.VolumeId); err != nil {
		return nil, err
	}
	if err := supported(request.VolumeCapabilities...); err != nil {
		return &csi.ValidateVolumeCapabilitiesResponse{Message: err.Error()}, nil
	}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{
		VolumeContext: request.VolumeContext, VolumeCapabilities: request.VolumeCapabilities, Parameters: request.Parameters,
	}}, nil
}

// ControllerExpandVolume only checks the new size. The node makes the volume larger, as it does with the file
// system of a disk.
func (d *driver) ControllerExpandVolume(_ context.Context, request *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse, error) {
	if request.VolumeId == "" {
		return nil, missing("volume_id")
	}
	if request.CapacityRange == nil {
		return nil, missing("capacity_range")
	}
	current, err := d.volumes.size(request.VolumeId)
	if err != nil {
		return nil, err
	}
	size, err := d.volumes.sizeFor(request.CapacityRange)
	if err != nil {
		return nil, err
	}
	return &csi.ControllerExpandVolumeResponse{CapacityBytes: max(size, current), NodeExpansionRequired: true}, nil
}

// topology is where volumes are accessible.
func (d *driver) topology() *csi.Topology {
	return &csi.Topology{Segments: map[string]string{topologyKey: d.node}}
}

// supported refuses what a file system on one node cannot be.
func supported(capabilities ...*csi.VolumeCapability) error {
	if len(capabilities) == 0 {
		return missing("volume_capabilities")
	}
	for _, capability := range capabilities {
		if capability.GetMount() == nil {
			return status.Error(codes.InvalidArgument, "volumes are file systems only, not block devices")
		}
		switch mode := capability.GetAccessMode().GetMode(); mode {
		case csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER,
			csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER,
			csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER,
			csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY:
		default:
			return status.Errorf(codes.InvalidArgument, "access mode %s is not supported: volumes are accessible on one node", mode)
		}
	}
	return nil
}

func missing(field string) error {
	return status.Errorf(codes.InvalidArgument, "%s is required", field)
}
