import { apiServer } from "#cli/doctor/api-server.ts";
import type { Check, CheckContext } from "#cli/doctor/check.ts";
import { clock } from "#cli/doctor/clock.ts";
import { cloudCredentials, cloudNetwork, cloudPermissions } from "#cli/doctor/cloud.ts";
import { deletionState } from "#cli/doctor/deletion-state.ts";
import { fallback } from "#cli/doctor/fallback.ts";
import { identityOf } from "#cli/doctor/identity.ts";
import { kubelets } from "#cli/doctor/kubelets.ts";
import { lambdaConcurrency } from "#cli/doctor/lambda.ts";
import { loadBalancers } from "#cli/doctor/load-balancers.ts";
import { accountLimits, nodeSecurityGroups, routeTables, subnets } from "#cli/doctor/network.ts";
import { permissionsOf } from "#cli/doctor/permissions.ts";
import { relayLease } from "#cli/doctor/relay-lease.ts";
import { secondCcm } from "#cli/doctor/second-ccm.ts";
import { stopped } from "#cli/doctor/stopped.ts";
import { tags } from "#cli/doctor/tags.ts";

/** What is looked at where nothing but the ways to the API server are to be judged. */
export function connectionChecks({ signers }: Pick<CheckContext, "signers">): readonly Check[] {
  return [apiServer, ...signers.flatMap((signer) => [identityOf(signer), permissionsOf(signer)])];
}

/** Everything that is looked at for a cluster, in the order in which it is told; a new check is a line here. */
export function checksFor({ signers }: Pick<CheckContext, "signers">, hasFallback = false): readonly Check[] {
  return [
    stopped,
    apiServer,
    ...signers.flatMap((signer) => [identityOf(signer), permissionsOf(signer)]),
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
