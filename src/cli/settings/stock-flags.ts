import { type Command, Option } from "commander";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { readSwitch } from "#core/flags.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** A flag of the stock controller managers that `run` and `relay` accept without effect. */
export interface StockFlag {
  readonly name: string;
  /** Whether it is a switch, which needs no value; the others have a value, which is ignored. */
  readonly isSwitch: boolean;
  /** What replaces it here. */
  readonly instead: string;
}

const LEADER =
  "nothing is elected: every write has a precondition, and replicas share clusters by --shard-by";
const IPAM = "kube-controller-manager allocates the networks of pods, by its own flag of this name";
const LOGS = "the log is one JSON object a line on standard error, each with its level";
const PACE = "requests are bounded for each cluster by limits of its entry, and slow down where refused";
const READERS = "--bind-address and the network say who may read /metrics, under --allowed-hosts";
const HTTP = "the endpoints answer over HTTP at --bind-address and --port; a proxy may add TLS";
const WEBHOOKS = "no webhook is served here; the function admission checks Services of DigitalOcean";
const PROFILES = "traces tell where time goes: docs/how-to/trace.md";

/**
 * The flags of k8s.io/cloud-provider and its libraries up to 1.36, with those in manifests of older versions.
 */
export const STOCK_FLAGS: readonly StockFlag[] = [
  ...createSwitches(["leader-elect"], LEADER),
  ...createValues(
    [
      "leader-elect-lease-duration",
      "leader-elect-renew-deadline",
      "leader-elect-retry-period",
      "leader-elect-resource-lock",
      "leader-elect-resource-name",
      "leader-elect-resource-namespace",
    ],
    LEADER,
  ),
  ...createSwitches(
    ["use-service-account-credentials"],
    "each function signs in as a user of its own: --function-kubeconfig, or signIn of an entry",
  ),
  ...createSwitches(["allocate-node-cidrs"], IPAM),
  ...createValues(["cidr-allocator-type"], IPAM),
  ...createSwitches(
    ["allow-untagged-cloud"],
    "--cloud-config says what the cluster's instances are told by, such as vpc or clusterTag",
  ),
  ...createValues(["v", "vmodule", "logging-format", "log-flush-frequency", "stderrthreshold"], LOGS),
  ...createSwitches(["logtostderr", "alsologtostderr"], LOGS),
  ...createValues(["concurrent-node-syncs", "concurrent-service-syncs"], "objects are handled in batches"),
  ...createValues(["kube-api-qps", "kube-api-burst", "kube-api-content-type"], PACE),
  ...createValues(
    ["min-resync-period", "node-sync-period"],
    "each resource is listed anew every 15 minutes; --node-status-update-frequency compares addresses",
  ),
  ...createValues(["controller-start-interval"], "all controllers start at once, as nothing is shared"),
  ...createValues(["external-cloud-volume-plugin"], "volumes are the CSI driver's"),
  ...createSwitches(["profiling", "contention-profiling"], PROFILES),
  ...createValues(
    [
      "authentication-kubeconfig",
      "authentication-token-webhook-cache-ttl",
      "authorization-kubeconfig",
      "authorization-always-allow-paths",
      "authorization-webhook-cache-authorized-ttl",
      "authorization-webhook-cache-unauthorized-ttl",
      "client-ca-file",
      "requestheader-allowed-names",
      "requestheader-client-ca-file",
      "requestheader-extra-headers-prefix",
      "requestheader-group-headers",
      "requestheader-username-headers",
    ],
    READERS,
  ),
  ...createSwitches(["authentication-skip-lookup", "authentication-tolerate-lookup-failure"], READERS),
  ...createValues(["cert-dir", "tls-cipher-suites", "tls-min-version"], HTTP),
  ...createValues(["webhook-bind-address", "webhook-cert-dir", "webhook-secure-port"], WEBHOOKS),
];

function createSwitches(names: readonly string[], instead: string): StockFlag[] {
  return names.map((name) => ({ name: `--${name}`, isSwitch: true, instead }));
}

function createValues(names: readonly string[], instead: string): StockFlag[] {
  return names.map((name) => ({ name: `--${name}`, isSwitch: false, instead }));
}

/** A flag that would change behaviour: which values are still accepted, and why others are not. */
export interface RefusedFlag {
  readonly name: string;
  /** The accepted values without effect, in words for the reference; none without it. */
  readonly taken?: string;
  readonly isTaken: (value: string) => boolean;
  readonly because: string;
}

const isOff = (value: string): boolean => readSwitch("", value, []) === false;
const isNeverTaken = (): boolean => false;

/**
 * Feature gates of the stock controller managers, with the value that matches this program's behaviour;
 * undefined if both do.
 */
const GATES: Readonly<Record<string, boolean | undefined>> = {
  CloudControllerManagerWatchBasedRoutesReconciliation: undefined,
  CloudControllerManagerWebhook: false,
  IPv6DualStack: true,
  LegacyNodeRoleBehavior: false,
  ServiceNodeExclusion: true,
};

export const REFUSED_FLAGS: readonly RefusedFlag[] = [
  {
    name: "--master",
    isTaken: isNeverTaken,
    because: "is not taken: write the API server's address into the kubeconfig",
  },
  {
    name: "--secure-port",
    taken: "`0`",
    isTaken: (value) => value === "0",
    because:
      "is not taken: the endpoints answer over HTTP; give --port, and have probes and scrapes use http",
  },
  ...["--tls-cert-file", "--tls-private-key-file", "--tls-sni-cert-key"].map((name) => ({
    name,
    isTaken: isNeverTaken,
    because:
      "is not taken: the endpoints answer over HTTP; put what ends TLS in front of --bind-address and --port",
  })),
  {
    name: "--enable-leader-migration",
    taken: "`false`",
    isTaken: isOff,
    because: "is not taken: no Lease says which manager works; serverless-ccm handover takes nodes over",
  },
  {
    name: "--leader-migration-config",
    isTaken: isNeverTaken,
    because: "is not taken: no Lease says which manager works; serverless-ccm handover takes nodes over",
  },
  {
    name: "--feature-gates",
    taken: "gates that change nothing here",
    isTaken: (value) => value.split(",").every(isTakenGate),
    because: `is not taken with this value: leave it out. Taken are ${Object.entries(GATES)
      .map(([gate, value]) => (value === undefined ? gate : `${gate}=${value}`))
      .join(", ")}`,
  },
  ...["--webhooks", "--validation-webhook-config-file"].map((name) => ({
    name,
    isTaken: isNeverTaken,
    because: "is not taken: no webhook of a cloud runs here; leave it out",
  })),
];

function isTakenGate(pair: string): boolean {
  const [gate = "", value = ""] = pair.trim().split("=");
  if (!Object.hasOwn(GATES, gate)) return false;
  const given = readSwitch("", value, []);
  return given !== undefined && (GATES[gate] === undefined || GATES[gate] === given);
}

/** Adds them to `run` and `relay`; help mentions them in one line, because none is needed. */
export function addStockFlags(command: Command): Command {
  for (const { name, isSwitch } of STOCK_FLAGS) {
    const flags = name === "--v" ? "-v, --v" : name;
    command.addOption(new Option(`${flags} ${isSwitch ? "[boolean]" : "<value>"}`).hideHelp());
  }
  for (const { name } of REFUSED_FLAGS)
    command.addOption(new Option(`${name} [value]`).argParser(collect).hideHelp());
  command.addOption(new Option("--address <ip>", "--bind-address, as it was called").hideHelp());
  return command.addHelpText(
    "after",
    "\nFlags of cloud-controller-manager that change nothing here, such as --leader-elect and --v, are taken,\nand the log says what takes their place: docs/reference/configuration.md#flags-of-other-controller-managers",
  );
}

/**
 * Collects all values of a flag, so that a later one does not hide an earlier one; without a value it is
 * `true`.
 */
function collect(value: string, before: unknown): readonly string[] {
  return [...listTexts(before), value];
}

function listTexts(value: unknown): readonly string[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value.map(String) : [String(value)];
}

/**
 * Returns the given flags; one that would change behaviour, or is not a boolean, goes to `faults`. `flags` are
 * all that the program read, by their names in camel case.
 */
export function readStockFlags(
  flags: { readonly given: ReadonlySet<string> },
  faults: ConfigurationFault[],
): readonly StockFlag[] {
  const { given } = flags;
  const values = new Map<string, unknown>(Object.entries(flags));
  const typed = (name: string): unknown => values.get(new Option(name).attributeName());
  for (const { name, isTaken, because } of REFUSED_FLAGS) {
    if (!given.has(name)) continue;
    const refused = listTexts(typed(name)).find((text) => !isTaken(text));
    if (refused !== undefined) faults.push({ name, message: `"${sanitizeText(refused)}" ${because}` });
  }
  const taken = STOCK_FLAGS.filter(({ name }) => given.has(name));
  for (const { name, isSwitch } of taken) {
    const value = typed(name);
    if (isSwitch && (value === true || typeof value === "string")) readSwitch(name, value, faults);
  }
  return taken;
}
