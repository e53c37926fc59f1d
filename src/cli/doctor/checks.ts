import { apiServer, clock, createIdentityCheck } from "#cli/doctor/api-server.ts";
import type { Check, CheckContext } from "#cli/doctor/check.ts";
import {
  accountLimits,
  cloudCredentials,
  cloudNetwork,
  cloudPermissions,
  loadBalancers,
  nodeSecurityGroups,
  routeTables,
  subnets,
  tags,
} from "#cli/doctor/cloud.ts";
import { fallback, lambdaConcurrency } from "#cli/doctor/lambda.ts";
import { createPermissionsCheck } from "#cli/doctor/permissions.ts";
import { deletionState, kubelets, relayLease, secondCcm, stopSwitchCheck } from "#cli/doctor/relay-lease.ts";

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
