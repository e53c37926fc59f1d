import { apiServer } from "#cli/doctor/api-server.ts";
import type { Check, CheckContext } from "#cli/doctor/check.ts";
import { clock } from "#cli/doctor/clock.ts";
import { cloudCredentials, cloudNetwork, cloudPermissions } from "#cli/doctor/cloud.ts";
import { deletionState } from "#cli/doctor/deletion-state.ts";
import { fallback } from "#cli/doctor/fallback.ts";
import { createIdentityCheck } from "#cli/doctor/identity.ts";
import { kubelets } from "#cli/doctor/kubelets.ts";
import { lambdaConcurrency } from "#cli/doctor/lambda.ts";
import { loadBalancers } from "#cli/doctor/load-balancers.ts";
import { accountLimits, nodeSecurityGroups, routeTables, subnets } from "#cli/doctor/network.ts";
import { createPermissionsCheck } from "#cli/doctor/permissions.ts";
import { relayLease } from "#cli/doctor/relay-lease.ts";
import { secondCcm } from "#cli/doctor/second-ccm.ts";
import { stopSwitchCheck } from "#cli/doctor/stop-switch.ts";
import { tags } from "#cli/doctor/tags.ts";

/** Lists the checks of the connections to the API server only. */
export function listConnectionChecks({ signers }: Pick<CheckContext, "signers">): readonly Check[] {
  return [
    apiServer,
    ...signers.flatMap((signer) => [createIdentityCheck(signer), createPermissionsCheck(signer)]),
  ];
}

/** Lists all checks of a cluster, in the order of the output; a new check is a line here. */
export function listChecks(
  { signers }: Pick<CheckContext, "signers">,
  hasFallback = false,
): readonly Check[] {
  return [
    stopSwitchCheck,
    apiServer,
    ...signers.flatMap((signer) => [createIdentityCheck(signer), createPermissionsCheck(signer)]),
    kubelets,
    cloudCredentials,
    cloudNetwork,
    cloudPermissions,
    loadBalancers,
    accountLimits,
    subnets,
    nodeSecurityGroups,
    routeTables,
    tags,
    secondCcm,
    deletionState,
    relayLease,
    lambdaConcurrency,
    ...(hasFallback ? [fallback] : []),
    clock,
  ];
}
