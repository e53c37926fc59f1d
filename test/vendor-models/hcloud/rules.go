package main

import (
	"github.com/hetznercloud/hcloud-go/v2/hcloud"

	"serverless-ccm.test/vendor-models/judge"
)

var rules = judge.Rules{
	Nullable: []string{
		"ServerPublicNet.ipv4",
		"ServerPublicNet.ipv6",
		"MetaPagination.previous_page",
		"MetaPagination.next_page",
		"MetaPagination.last_page",
		"MetaPagination.total_entries",
	},
	Optional: []string{"Error.details"},
	Values: map[string][]string{
		"Server.status": {
			string(hcloud.ServerStatusInitializing), string(hcloud.ServerStatusOff), string(hcloud.ServerStatusRunning),
			string(hcloud.ServerStatusStarting), string(hcloud.ServerStatusStopping), string(hcloud.ServerStatusMigrating),
			string(hcloud.ServerStatusRebuilding), string(hcloud.ServerStatusDeleting), string(hcloud.ServerStatusUnknown),
		},
		"Action.status": {
			string(hcloud.ActionStatusRunning), string(hcloud.ActionStatusSuccess), string(hcloud.ActionStatusError),
		},
		"ActionResourceReference.type": {
			string(hcloud.ActionResourceTypeServer), string(hcloud.ActionResourceTypeNetwork), string(hcloud.ActionResourceTypeImage),
		},
		"ServerType.architecture": {string(hcloud.ArchitectureX86), string(hcloud.ArchitectureARM)},
		"ServerType.cpu_type":     {string(hcloud.CPUTypeShared), string(hcloud.CPUTypeDedicated)},
		"ServerType.storage_type": {string(hcloud.StorageTypeLocal), string(hcloud.StorageTypeCeph)},
		"Location.network_zone": {
			string(hcloud.NetworkZoneEUCentral), string(hcloud.NetworkZoneUSEast), string(hcloud.NetworkZoneUSWest),
			string(hcloud.NetworkZoneAPSouthEast),
		},
		"NetworkSubnet.type": {
			string(hcloud.NetworkSubnetTypeCloud), string(hcloud.NetworkSubnetTypeServer), string(hcloud.NetworkSubnetTypeVSwitch),
		},
		"Error.code": errorCodes,
	},
}

// errorCodes has the codes that any request may get.
var errorCodes = func() []string {
	codes := []string{}
	for _, code := range []hcloud.ErrorCode{
		hcloud.ErrorCodeServiceError, hcloud.ErrorCodeRateLimitExceeded, hcloud.ErrorCodeUnknownError,
		hcloud.ErrorCodeNotFound, hcloud.ErrorCodeInvalidInput, hcloud.ErrorCodeForbidden,
		hcloud.ErrorCodeUnauthorized, hcloud.ErrorCodeJSONError, hcloud.ErrorCodeLocked,
		hcloud.ErrorCodeResourceLimitExceeded, hcloud.ErrorCodeResourceUnavailable, hcloud.ErrorCodeUniquenessError,
		hcloud.ErrorCodeProtected, hcloud.ErrorCodeMaintenance, hcloud.ErrorCodeConflict,
		hcloud.ErrorCodeRobotUnavailable, hcloud.ErrorCodeResourceLocked, hcloud.ErrorCodeServerError,
		hcloud.ErrorCodeBadGateway, hcloud.ErrorCodeTimeout, hcloud.ErrorUnsupportedError,
		hcloud.ErrorDeprecatedAPIEndpoint,
	} {
		codes = append(codes, string(code))
	}
	return codes
}()
