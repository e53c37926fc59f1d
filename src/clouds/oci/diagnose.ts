import type { Diagnosis } from "#clouds/diagnosis.ts";
import { buildUnansweredFault, classify } from "#clouds/http/classify.ts";
import { createHttpClient } from "#clouds/http/client.ts";
import { buildDependencies } from "#clouds/http/cloud-options.ts";
import { memoizeByKey } from "#clouds/http/memoize.ts";
import { createMeter } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { buildBaseUrls, createOciApis, type OciApis, type OciService } from "#clouds/oci/api.ts";
import { listCompartments, type OciCloudConfig } from "#clouds/oci/config.ts";
import { BASES, GROUPS_PATH } from "#clouds/oci/load-balancers/operations.ts";
import { Subnet as BalancerSubnet, ListedBalancer } from "#clouds/oci/load-balancers/state.ts";
import { OciInstance, Subnet, VnicAttachment } from "#clouds/oci/objects.ts";
import { createKeySource } from "#clouds/oci/private-key.ts";
import { isNotFound, readErrorAt } from "#clouds/oci/read-error.ts";
import { signRequests } from "#clouds/oci/sign.ts";
import type { LoadCloudOptions } from "#clouds/provider.ts";
import {
  type CheckResult,
  reportFailure,
  reportOk,
  reportSkipped,
  reportWarning,
} from "#core/check-result.ts";

/** One page is enough for a check. */
const PAGE_SIZE = 500;

/** Checks the configuration of a cluster on Oracle Cloud; rejects if its signing key cannot be read. */
export async function diagnoseOci(
  config: OciCloudConfig,
  options: LoadCloudOptions = {},
): Promise<Diagnosis> {
  const { auth, vcn } = config;
  const url = buildBaseUrls(config).iaas;
  const key = createKeySource(config, { clusterName: options.clusterName ?? auth.region });
  await key();
  const keyId = `${auth.tenancy}/${auth.user}/${auth.fingerprint.toLowerCase()}`;
  const sign = signRequests({ keyId, key, host: new URL(url).host, wallClock: Date.now });
  const apis = createOciApis(config, key, { ...buildDependencies({}), clusterName: options.clusterName });
  const readError = readErrorAt(Date.now);
  const client = createHttpClient(url);

  /** Reads each path only once. */
  const readOnce = memoizeByKey(async (path: string, signal: AbortSignal) => {
    const request = { method: "GET", path: `/20160918${path}`, body: undefined } as const;
    const { headers } = await sign(request);
    const answer = await client.send(
      { ...request, headers: { accept: "application/json", ...headers } },
      signal,
    );
    return { answer, at: Date.now() };
  });

  async function get(path: string, template: string, signal: AbortSignal) {
    try {
      return classify((await readOnce(path, signal)).answer, template, readError);
    } catch (cause) {
      return { kind: "fault", fault: buildUnansweredFault(cause, template) } as const;
    }
  }

  const listPath = (name: string, compartment: string): string =>
    `/${name}?${new URLSearchParams({ compartmentId: compartment, limit: String(PAGE_SIZE) })}`;

  async function listEntries(name: string, compartment: string, signal: AbortSignal) {
    const answer = await get(listPath(name, compartment), `GET /${name} of ${compartment}`, signal);
    return answer.kind === "ok" && Array.isArray(answer.value)
      ? (answer.value as readonly unknown[])
      : answer;
  }

  return {
    async credentials(signal) {
      for (const compartment of listCompartments(config)) {
        const listed = await listEntries("instances", compartment, signal);
        if (isList(listed)) continue;
        if (listed.kind === "ok")
          return reportFailure(`GET /instances of ${compartment}: no list of instances`, RETRY);
        const { message, status } = listed.fault;
        if (status === 401) return reportFailure(message, KEY);
        return reportFailure(message, status === 404 || listed.fault.code === "Denied" ? POLICY : RETRY);
      }
      return reportOk(`user ${auth.user} may list instances of ${listCompartments(config).join(" and ")}`);
    },
    async network(signal): Promise<CheckResult> {
      const subnets = new Map<string, Set<string>>();
      let alive = 0;
      for (const compartment of listCompartments(config)) {
        const instances = await listEntries("instances", compartment, signal);
        const attachments = await listEntries("vnicAttachments", compartment, signal);
        if (!isList(instances)) return reportFailure(describeOutcome(instances), RETRY);
        if (!isList(attachments)) return reportFailure(describeOutcome(attachments), NETWORK_POLICY);
        alive += instances.filter((each) => OciInstance.safeParse(each).success).length;
        for (const each of attachments) {
          const { data } = VnicAttachment.safeParse(each);
          if (data?.subnetId === undefined || data.lifecycleState !== "ATTACHED") continue;
          const ids = subnets.get(data.subnetId) ?? new Set();
          subnets.set(data.subnetId, ids.add(data.instanceId));
        }
      }
      if (vcn === undefined) return reportOk(`no VCN is configured; ${alive} instances in the compartments`);
      const ownInstances = new Set<string>();
      let example = "";
      for (const [id, instances] of [...subnets].slice(0, MAX_SUBNETS)) {
        const answer = await get(`/subnets/${id}`, "GET /subnets/{id}", signal);
        const subnet = answer.kind === "ok" ? Subnet.safeParse(answer.value).data : undefined;
        if (answer.kind === "fault") return reportFailure(answer.fault.message, NETWORK_POLICY);
        if (subnet?.vcnId === vcn) for (const instance of instances) ownInstances.add(instance);
        else if (subnet !== undefined) example ||= `; for example, subnet ${id} is in ${subnet.vcnId}`;
      }
      if (ownInstances.size > 0)
        return reportOk(
          `VCN ${vcn}: ${ownInstances.size} ${ownInstances.size === 1 ? "instance" : "instances"} on the first page`,
        );
      return reportWarning(
        `VCN ${vcn}: no instance of ${alive} in the compartments${example}`,
        "see vcn and compartment",
      );
    },
    async clockAheadMs(signal) {
      const { answer, at } = await readOnce(listPath("instances", config.compartment), signal);
      const date = Date.parse(answer.headers["date"] ?? "");
      if (Number.isNaN(date)) return undefined;
      const ahead = date - at;
      return ahead < 0 && ahead > -1_000 ? 0 : ahead;
    },
    permissions: (signal) => diagnosePermissions(config, apis, signal),
    close() {
      client.close();
      apis.close();
    },
  };
}

const MAX_SUBNETS = 50;
const RETRY = "run doctor again; see auth.region, endpoints, the network, and Oracle's own health";
const KEY =
  "see that the public half of the signing key is the user's, with auth.fingerprint, auth.user and auth.tenancy as the console shows them";
const POLICY =
  "see that compartment is right, and that a policy lets the user's group read instance-family there";
const NETWORK_POLICY =
  "see that a policy lets the user's group read virtual-network-family, where the subnets are";

function isList<Other>(value: readonly unknown[] | Other): value is readonly unknown[] {
  return Array.isArray(value);
}

function describeOutcome(outcome: {
  readonly kind: string;
  readonly fault?: { readonly message: string };
}): string {
  return outcome.fault?.message ?? "the answer is not a list";
}

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
  if (config.loadBalancer?.disabled === true)
    return reportSkipped("load balancers are disabled by loadBalancer.disabled");
  const checker = createPermissionChecker(apis, signal);
  for (const compartment of listCompartments(config)) {
    const failure = await checkCompartment(compartment, config, checker);
    if (failure !== undefined) return failure;
  }
  for (const key of ["subnet1", "subnet2"] as const) {
    const failure = await checkSubnet(key, config, checker);
    if (failure !== undefined) return failure;
  }
  return reportPermissions(config, checker);
}

interface PermissionChecker {
  /** The messages of denied reads. */
  readonly denials: readonly string[];
  /** The policy statements that would grant them. */
  readonly statements: ReadonlySet<string>;
  /** Undefined if the read is denied, which is recorded; a fault unrelated to permissions is returned. */
  check(permission: RequiredPermission): Promise<Outcome<unknown>>;
}

function createPermissionChecker(apis: OciApis, signal: AbortSignal): PermissionChecker {
  const callContext = { signal, meter: createMeter() };
  const denials: string[] = [];
  const statements = new Set<string>();
  return {
    denials,
    statements,
    async check({ service, path, statement }) {
      const template = `GET ${path.replace(/\?.*/, "").replace(/ocid1[^/]+/, "{id}")}`;
      const outcome = await apis[service].get({ operation: "doctor", template, path }, callContext);
      if (outcome.kind === "ok") return outcome;
      const { status, message } = outcome.fault;
      if (!isNotFound(outcome.fault) && status !== 403) return outcome;
      denials.push(message);
      statements.add(`allow group GROUP to ${statement}`);
      return { kind: "ok", value: undefined };
    },
  };
}

/** Checks the permissions in a compartment. Returns a failure unrelated to permissions. */
async function checkCompartment(
  compartment: string,
  config: OciCloudConfig,
  { check }: PermissionChecker,
): Promise<CheckResult | undefined> {
  const query = new URLSearchParams({ compartmentId: compartment, limit: "1" });
  const where = compartment.startsWith("ocid1.tenancy.") ? "tenancy" : `compartment id ${compartment}`;
  const lb = { service: "loadBalancer", statement: `manage load-balancers in ${where}` } as const;
  const nlb = {
    service: "networkLoadBalancer",
    statement: `manage network-load-balancers in ${where}`,
  } as const;
  const groups = { service: "iaas", statement: `manage network-security-groups in ${where}` } as const;
  const listed = await check({ ...lb, path: `${BASES.lb.path}?${query}` });
  if (listed.kind === "fault") return reportFailure(listed.fault.message, RETRY);
  const balancer = ListedBalancer.array().safeParse(listed.value).data?.[0];
  const inVcn = config.vcn === undefined ? "" : `&vcnId=${config.vcn}`;
  const permissions: readonly RequiredPermission[] = [
    ...(balancer === undefined
      ? []
      : [{ ...lb, path: `${BASES.lb.path}/${encodeURIComponent(balancer.id)}/workRequests?limit=1` }]),
    { ...nlb, path: `${BASES.nlb.path}?${query}` },
    { ...nlb, path: `/20200501/workRequests?${query}` },
    ...(needsGroups(config) ? [{ ...groups, path: `${GROUPS_PATH}?${query}${inVcn}` }] : []),
  ];
  for (const permission of permissions) {
    const outcome = await check(permission);
    if (outcome.kind === "fault") return reportFailure(outcome.fault.message, RETRY);
  }
  return undefined;
}

/** Checks a configured subnet of load balancers. Returns a failure unrelated to permissions. */
async function checkSubnet(
  key: "subnet1" | "subnet2",
  { loadBalancer, vcn }: OciCloudConfig,
  { check }: PermissionChecker,
): Promise<CheckResult | undefined> {
  const id = loadBalancer?.[key];
  if (!id) return undefined;
  const path = `/20160918/subnets/${id}`;
  const statement = `use virtual-network-family in the compartment of loadBalancer.${key}, ${id}`;
  const outcome = await check({ service: "iaas", path, statement });
  if (outcome.kind === "fault") return reportFailure(outcome.fault.message, RETRY);
  const subnet = BalancerSubnet.safeParse(outcome.value).data;
  if (subnet === undefined || vcn === undefined || subnet.vcnId === vcn) return undefined;
  return reportFailure(
    `loadBalancer.${key} is in ${subnet.vcnId}, and vcn is ${vcn}`,
    `set loadBalancer.${key} to a subnet of vcn: every Service without a subnet of its own is rejected`,
  );
}

function reportPermissions(config: OciCloudConfig, { denials, statements }: PermissionChecker): CheckResult {
  if (denials.length > 0) return reportFailure(denials.join("; "), `${[...statements].join("; ")}; ${GROUP}`);
  const mode = config.loadBalancer?.securityListManagementMode;
  if (mode !== "NSG" && mode !== "None")
    return reportWarning(
      `loadBalancer.securityListManagementMode is ${mode ?? "not set"}: load balancers of the type lb whose Service sets no mode are rejected`,
      "set it to NSG or None; security lists are not edited",
    );
  const groups = needsGroups(config)
    ? "and network security groups"
    : "(mode None: network security groups were not checked)";
  return reportOk(
    `user ${config.auth.user} may list load balancers, network load balancers, their work requests ${groups}; reads cannot prove that it may create, change and delete them`,
  );
}

function needsGroups({ loadBalancer }: OciCloudConfig): boolean {
  return loadBalancer?.securityListManagementMode !== "None";
}

const GROUP =
  "GROUP is that of auth.user, and OCI gives the same answer for a missing compartment or subnet: check their OCIDs too";
