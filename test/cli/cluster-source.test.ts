import { expect, test } from "vitest";
import { type ClusterSource, selectClusterSource } from "#cli/settings/cluster-settings.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { CONTROLLER_FLAGS } from "#core/descriptors.ts";

const FILE: ClusterSource = { kind: "file", file: "f" };
const FLAGS: ClusterSource = { kind: "flags", unread: undefined };
const ALL = [
  ...["--cloud-provider", "--cloud-config", "--cluster-name"],
  ...["--kubeconfig", "--relay-kubeconfig", "--controllers"],
  ...CONTROLLER_FLAGS.flatMap(({ flags }) => flags.flatMap(({ option }) => option.split(" ", 1))),
];

test.each<[string, string | undefined, string[], string | undefined, ClusterSource, string[]]>([
  ["a file by flag", "f", [], undefined, FILE, []],
  ["a file by flag over that of the environment", "f", [], "e", FILE, []],
  ["a file by the environment", undefined, [], "f", FILE, []],
  ["nothing", undefined, [], undefined, FLAGS, []],
  ["an empty variable", undefined, [], "", FLAGS, []],
  ["flags alone", undefined, ALL, undefined, FLAGS, []],
  ["a kubeconfig over the environment", undefined, ALL, "f", { kind: "flags", unread: "f" }, []],
  ["flags that hold for all clusters", "f", ["--dry-run", "--port", "--bind-address"], undefined, FILE, []],
  ["all flags with a file", "f", ALL, undefined, FILE, ALL],
  ...ALL.map((flag): [string, string, string[], undefined, ClusterSource, string[]] => [
    `${flag} with a file`,
    "f",
    [flag],
    undefined,
    FILE,
    [flag],
  ]),
  ["flags for one cluster with the environment", undefined, ["--controllers"], "f", FILE, ["--controllers"]],
])("%s", (_, byFlag, given, fromEnvironment, source, faulty) => {
  const faults: ConfigurationFault[] = [];
  const environment = { CLUSTERS_FILE: fromEnvironment };
  expect(selectClusterSource(byFlag, new Set(given), environment, faults)).toEqual(source);
  expect(faults.map(({ name }) => name)).toEqual(faulty);
});

test("a fault says where to put the cluster's setting, and how to select one cluster", () => {
  const faults: ConfigurationFault[] = [];
  selectClusterSource("f", new Set(["--controllers"]), {}, faults);
  selectClusterSource(undefined, new Set(["--cluster-name"]), { CLUSTERS_FILE: "f" }, faults);
  expect(faults.map(({ message }) => message)).toEqual([
    "describes one cluster, and cannot be combined with --clusters-file: set controllers of each entry",
    "describes one cluster, and cannot be combined with the clusters file that $CLUSTERS_FILE names: set name of each entry; for one cluster give --kubeconfig, too",
  ]);
});
