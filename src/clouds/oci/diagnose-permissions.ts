import { createMeter } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { OciApis, OciService } from "#clouds/oci/api.ts";
import { listCompartments, type OciCloudConfig } from "#clouds/oci/config.ts";
import { BASES, GROUPS_PATH } from "#clouds/oci/load-balancers/operations.ts";
import { ListedBalancer, Subnet } from "#clouds/oci/load-balancers/state.ts";
import { isNotFound } from "#clouds/oci/read-error.ts";
import {
  type CheckResult,
  reportFailure,
  reportOk,
  reportSkipped,
  reportWarning,
} from "#core/check-result.ts";

/** A read that proves a permission, and the policy statement that grants it. */
interface RequiredPermission {
  readonly service: OciService;
  readonly path: string;
  readonly statement: string;
}

/**
 * Checks whether the user has the permissions for load balancers, as far as reads can prove; it reports each
 * missing one by its policy statement.
 */
export async function diagnosePermissions(
  config: OciCloudConfig,
  apis: OciApis,
  signal: AbortSignal,
): Promise<CheckResult> {
  const { auth, loadBalancer = {}, vcn } = config;
  const mode = loadBalancer.securityListManagementMode;
  const needsGroups = mode !== "None";
  if (loadBalancer.disabled === true)
    return reportSkipped("load balancers are disabled by loadBalancer.disabled");
  const callContext = { signal, meter: createMeter() };
  const denials: string[] = [];
  const statements = new Set<string>();

  /** Undefined if the read is denied, which is recorded; a fault unrelated to permissions is returned. */
  async function checkPermission({
    service,
    path,
    statement,
  }: RequiredPermission): Promise<Outcome<unknown>> {
    const template = `GET ${path.replace(/\?.*/, "").replace(/ocid1[^/]+/, "{id}")}`;
    const outcome = await apis[service].get({ operation: "doctor", template, path }, callContext);
    if (outcome.kind === "ok") return outcome;
    const { status, message } = outcome.fault;
    if (!isNotFound(outcome.fault) && status !== 403) return outcome;
    denials.push(message);
    statements.add(`allow group GROUP to ${statement}`);
    return { kind: "ok", value: undefined };
  }

  for (const compartment of listCompartments(config)) {
    const query = new URLSearchParams({ compartmentId: compartment, limit: "1" });
    const where = compartment.startsWith("ocid1.tenancy.") ? "tenancy" : `compartment id ${compartment}`;
    const lb = { service: "loadBalancer", statement: `manage load-balancers in ${where}` } as const;
    const nlb = {
      service: "networkLoadBalancer",
      statement: `manage network-load-balancers in ${where}`,
    } as const;
    const groups = { service: "iaas", statement: `manage network-security-groups in ${where}` } as const;
    const listed = await checkPermission({ ...lb, path: `${BASES.lb.path}?${query}` });
    if (listed.kind === "fault") return reportFailure(listed.fault.message, RETRY);
    const balancer = ListedBalancer.array().safeParse(listed.value).data?.[0];
    const permissions: readonly RequiredPermission[] = [
      ...(balancer === undefined
        ? []
        : [{ ...lb, path: `${BASES.lb.path}/${encodeURIComponent(balancer.id)}/workRequests?limit=1` }]),
      { ...nlb, path: `${BASES.nlb.path}?${query}` },
      { ...nlb, path: `/20200501/workRequests?${query}` },
      ...(needsGroups
        ? [{ ...groups, path: `${GROUPS_PATH}?${query}${vcn === undefined ? "" : `&vcnId=${vcn}`}` }]
        : []),
    ];
    for (const permission of permissions) {
      const outcome = await checkPermission(permission);
      if (outcome.kind === "fault") return reportFailure(outcome.fault.message, RETRY);
    }
  }
  for (const key of ["subnet1", "subnet2"] as const) {
    const id = loadBalancer[key];
    if (!id) continue;
    const path = `/20160918/subnets/${id}`;
    const statement = `use virtual-network-family in the compartment of loadBalancer.${key}, ${id}`;
    const outcome = await checkPermission({ service: "iaas", path, statement });
    if (outcome.kind === "fault") return reportFailure(outcome.fault.message, RETRY);
    const subnet = Subnet.safeParse(outcome.value).data;
    if (subnet !== undefined && vcn !== undefined && subnet.vcnId !== vcn)
      return reportFailure(
        `loadBalancer.${key} is in ${subnet.vcnId}, and vcn is ${vcn}`,
        `set loadBalancer.${key} to a subnet of vcn: every Service without a subnet of its own is rejected`,
      );
  }
  if (denials.length > 0) return reportFailure(denials.join("; "), `${[...statements].join("; ")}; ${GROUP}`);
  if (mode !== "NSG" && mode !== "None")
    return reportWarning(
      `loadBalancer.securityListManagementMode is ${mode ?? "not set"}: load balancers of the type lb whose Service sets no mode are rejected`,
      "set it to NSG or None; security lists are not edited",
    );
  const groups = needsGroups
    ? "and network security groups"
    : "(mode None: network security groups were not checked)";
  return reportOk(
    `user ${auth.user} may list load balancers, network load balancers, their work requests ${groups}; reads cannot prove that it may create, change and delete them`,
  );
}

const GROUP =
  "GROUP is that of auth.user, and OCI gives the same answer for a missing compartment or subnet: check their OCIDs too";
const RETRY = "run doctor again; see auth.region, endpoints, the network, and Oracle's own health";
