import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addFunctionFlags, addServingFlags } from "#cli/flags.ts";
import { readServingSettings, type ServingFlags } from "#cli/relay/serving-settings.ts";
import { REFUSED_FLAGS, readStockFlags, STOCK_FLAGS } from "#cli/settings/stock-flags.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { runProgram, startProgram } from "#test/cli/program.ts";

/** Arguments of the containers in published manifests, with an example for each template's value. */
const MANIFESTS: readonly (readonly [manifest: string, args: string])[] = [
  [
    "kOps, AWS: its CloudControllerManagerConfig, and what it adds",
    "--allocate-node-cidrs=true --cidr-allocator-type=RangeAllocator --cluster-cidr=100.64.0.0/10 --cluster-name=minimal.example.com --configure-cloud-routes=false --leader-elect=true --leader-elect-lease-duration=15s --leader-elect-renew-deadline=10s --leader-elect-resource-lock=leases --leader-elect-resource-name=ccm --leader-elect-resource-namespace=kube-system --leader-elect-retry-period=2s --v=2 --cloud-provider=aws --use-service-account-credentials=true --cloud-config=/etc/kubernetes/cloud.config",
  ],
  ["kOps, DigitalOcean", "--leader-elect=true"],
  [
    "kOps, Hetzner",
    "--allocate-node-cidrs=true --allow-untagged-cloud=true --cluster-cidr=100.64.0.0/10 --cluster-name=a --configure-cloud-routes=false --leader-elect=false --v=2 --cloud-provider=hcloud --use-service-account-credentials=true",
  ],
  ["cloud-provider-aws, its chart", "--v=2 --cloud-provider=aws"],
  ["Cluster API, AWS: its ClusterResourceSet", "--v=2"],
  [
    "OpenShift, AWS",
    "--v=2 --cloud-provider=aws --use-service-account-credentials=true --configure-cloud-routes=false",
  ],
  [
    "Cluster API, Hetzner: hcloud's chart",
    "--allow-untagged-cloud --cloud-provider=hcloud --route-reconciliation-period=30s --webhook-secure-port=0 --leader-elect=false --feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=false --allocate-node-cidrs=true --cluster-cidr=10.244.0.0/16",
  ],
  [
    "kubespray, OpenStack",
    "--v=1 --cloud-config=/etc/config/cloud.conf --cloud-provider=openstack --use-service-account-credentials=true --address=127.0.0.1",
  ],
  [
    "kubespray, Hetzner",
    "--cloud-provider=hcloud --leader-elect=false --allow-untagged-cloud --allocate-node-cidrs=true --cluster-cidr=10.233.64.0/18",
  ],
  [
    "kubespray, Oracle",
    "--cloud-config=/etc/oci/cloud-provider.yaml --cloud-provider=oci --leader-elect-resource-lock=leases --concurrent-service-syncs=3 --v=2",
  ],
  ["kubespray, DigitalOcean", "--leader-elect=false"],
  [
    "HyperShift, with another cloud's name",
    "--authentication-skip-lookup --bind-address=10.0.0.1 --use-service-account-credentials=true --configure-cloud-routes=false --cloud-provider=aws --profiling=false --leader-elect=true --leader-elect-lease-duration=137s --leader-elect-renew-deadline=107s --leader-elect-retry-period=26s --tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
  ],
  [
    "an operator of hosted control planes, AWS",
    "--cloud-provider=aws --leader-elect=true --allocate-node-cidrs=false --configure-cloud-routes=false --controllers=*,-service -v=2",
  ],
];

describe.each(["run", "relay"])("%s", (name) => {
  test.each(MANIFESTS)("accepts the flags of %s", (_, args) => {
    const given = args.split(" ");
    const { stockFlags, faults } = read(name, given);
    expect(faults).toEqual([]);
    const known = ["--cloud-provider", "--cloud-config", "--cluster-name", "--cluster-cidr", "--controllers"];
    const honoured = [...known, "--configure-cloud-routes", "--route-reconciliation-period"];
    const others = ["--bind-address", "--address", "--feature-gates"];
    const written = given
      .map((each) => each.split("=", 1)[0]?.replace(/^-v$/, "--v") ?? "")
      .filter((each) => ![...honoured, ...others].includes(each));
    expect(stockFlags.map((flag) => flag.name).toSorted()).toEqual(written.toSorted());
    for (const { instead } of stockFlags) expect(instead.length).toBeGreaterThan(10);
  });
});

test.each<[string, readonly string[]]>([
  ["an API server by address", ["--master=https://10.0.0.1:6443"]],
  ["a port for TLS", ["--secure-port=10288"]],
  ["a certificate", ["--tls-cert-file=/tls.crt", "--tls-private-key-file=/tls.key"]],
  ["leader migration", ["--enable-leader-migration", "--leader-migration-config=/a.yaml"]],
  ["leader migration, in Go's words", ["--enable-leader-migration=T"]],
  ["an unknown gate", ["--feature-gates=AllAlpha=true"]],
  [
    "a known gate with another value",
    ["--feature-gates=IPv6DualStack=true,CloudControllerManagerWebhook=true"],
  ],
  ["a gate without a value", ["--feature-gates=IPv6DualStack"]],
  ["the name of a method", ["--feature-gates=constructor=true"]],
  ["webhooks", ["--webhooks=*", "--validation-webhook-config-file=/a.yaml"]],
  ["a switch that is neither", ["--leader-elect=maybe"]],
])("rejects by name what would change behaviour: %s", (_, args) => {
  const { faults } = read("run", args);
  expect(faults.map(({ name }) => name)).toEqual(args.map((each) => each.split("=", 1)[0]));
});

test.each([
  [["--feature-gates=AllAlpha=true", "--feature-gates=IPv6DualStack=true"], "--feature-gates"],
  [["--secure-port=10258", "--secure-port=0"], "--secure-port"],
  [["--enable-leader-migration", "--enable-leader-migration=false"], "--enable-leader-migration"],
])("rejects %j: a later value hides no earlier one", (args, name) => {
  expect(read("run", args).faults.map((fault) => fault.name)).toEqual([name]);
});

test.each([
  "--secure-port=0",
  "--enable-leader-migration=false",
  "--feature-gates=LegacyNodeRoleBehavior=false,CloudControllerManagerWatchBasedRoutesReconciliation=true",
])("accepts %s, which matches the behaviour", (flag) => expect(read("run", [flag]).faults).toEqual([]));

test.each([
  [[], "127.0.0.1"],
  [["--address=0.0.0.0"], "0.0.0.0"],
  [["--bind-address=10.0.0.1", "--address=0.0.0.0"], "10.0.0.1"],
])("%j answers at %s", (args, address) => {
  expect(readServingSettings(read("run", args).flags, []).bindAddress).toBe(address);
});

test("the reference lists each of them, and what replaces it", async () => {
  const page = await readFile(new URL("../../docs/reference/configuration.md", import.meta.url), "utf8");
  const section = page.split("## Flags of other controller managers\n")[1]?.split("\n## ", 1)[0] ?? "";
  const rows = [...section.matchAll(/^\| (`--.*) \| (.*) \|$/gm)].map(([, names = "", words = ""]) => ({
    names: [...names.matchAll(/`(--[a-z-]+)`/g)].map(([, name]) => name),
    words,
  }));
  const inPage = (wanted: string) =>
    rows.filter(({ words }) => words.includes(wanted)).flatMap((row) => row.names);
  for (const [instead, flags] of Map.groupBy(STOCK_FLAGS, (flag) => flag.instead))
    expect(inPage(instead).toSorted()).toEqual(flags.map(({ name }) => name).toSorted());
  const refused = rows.filter(({ words }) => words.startsWith("refused")).flatMap(({ names }) => names);
  expect(refused.toSorted()).toEqual(REFUSED_FLAGS.map(({ name }) => name).toSorted());
});

describe("a process", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "stock-flags-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test("serves with a manifest's flags, and reports for each what replaces it", async () => {
    const plane = await startEmbeddedControlPlane({ folder: join(folder, "plane") });
    await writeFile(join(folder, "instances.json"), '{"instances":[]}');
    await writeFile(join(folder, "cloud.yaml"), `instancesFile: ${join(folder, "instances.json")}\n`);
    const program = startProgram([
      ...["run", "--cloud-provider=memory", `--cloud-config=${join(folder, "cloud.yaml")}`, "--port=0"],
      `--kubeconfig=${await plane.kubeconfig("admin")}`,
      ..."--leader-elect=true --v=2 --use-service-account-credentials=true --allocate-node-cidrs=true".split(
        " ",
      ),
    ]);
    try {
      await program.line("Serving");
      const said = program.lines.filter(({ event }) => event === "FlagWithoutEffect");
      expect(said.map(({ level, name }) => `${level} ${name}`)).toEqual([
        "info --leader-elect",
        "info --use-service-account-credentials",
        "info --allocate-node-cidrs",
        "info --v",
      ]);
      expect(await program.end("SIGTERM")).toBe(0);
    } finally {
      program.child.kill("SIGKILL");
      await plane.close();
    }
  });

  test("names everything that it rejects at once, and nothing without effect", async () => {
    const flags = ["--master=https://a", "--secure-port=10258", "--leader-elect", "--cloud-provider=aws"];
    const { code, stderr } = await runProgram(["run", ...flags], "", { KUBECONFIG: "", CLUSTERS_FILE: "" });
    expect(code).toBe(2);
    expect(stderr).toContain("\n  --master: ");
    expect(stderr).toContain("\n  --secure-port: ");
    expect(stderr).not.toContain("--leader-elect");
  });
});

/** Returns what the program reads from a command line. */
function read(name: string, args: readonly string[]) {
  const command = addServingFlags(new Command(name), name === "relay" ? addFunctionFlags : undefined)
    .exitOverride()
    .parse(args, { from: "user" });
  const given = new Set(
    command.options
      .filter((option) => command.getOptionValueSource(option.attributeName()) === "cli")
      .map(({ long }) => long ?? ""),
  );
  const flags = { ...command.opts<ServingFlags>(), given };
  const faults: ConfigurationFault[] = [];
  return { flags, stockFlags: readStockFlags(flags, faults), faults };
}
