import { describe, expect, test } from "vitest";
import * as z from "zod";
import { ClusterEntry } from "#config/cluster.ts";
import type { ClustersFile } from "#config/clusters-file.ts";
import { parseAllowedSecrets } from "#config/registry/entry-references.ts";
import { createSsmRegistry } from "#config/registry/ssm/ssm-registry.ts";

const PATH = "/ccm/clusters/";
const SERVER = "https://tenant.example";
const NO_CLOUD = { provider: "no-cloud" };
const HCLOUD = { provider: "hcloud", labelSelector: "a=b" };

async function homeOf(written: unknown, allowedSecrets?: string) {
  const value = typeof written === "string" ? written : JSON.stringify(written);
  const parameter = { name: `${PATH}blue`, type: "String", value };
  const parsed = parseAllowedSecrets(allowedSecrets ?? "");
  return createSsmRegistry(PATH, {
    store: async () => ({
      list: async () => ({ parameters: [parameter], next: undefined }),
      get: async () => parameter,
      getMany: async () => [parameter],
    }),
    ...(allowedSecrets === undefined ? {} : { allowedSecrets: parsed }),
  });
}
async function faultsOf(difference: object, allowedSecrets?: string): Promise<readonly string[]> {
  const entry = { name: "blue", server: SERVER, cloud: NO_CLOUD, ...difference };
  const home = await homeOf(entry, allowedSecrets);
  const faults = faultsIn(await home.read());
  const found = await home
    .byName()("blue")
    .catch((error: Error) => error.message);
  // A function that reads one entry rejects what a list rejects.
  expect(typeof found === "string").toBe(faults.length > 0);
  return faults;
}
const faultsIn = ({ faulty }: ClustersFile): readonly string[] =>
  faulty.flatMap(({ faults }) => faults.map(({ path, message }) => `${path}: ${message}`));

describe("an entry that is not in the operator's file", () => {
  const relay = (how: object): object => ({ signIn: { relay: how } });
  test.each<[string, object, string]>([
    ["the token that it is sent", relay({ kind: "token-file", file: "/run/token" }), "signIn.relay.file"],
    ["a secret", relay({ kind: "token", from: { file: "/run/token" } }), "signIn.relay.from.file"],
    ["a kubeconfig", relay({ kind: "kubeconfig", file: "/k", allow: ["exec"] }), "signIn.relay.file"],
    [
      "a pair",
      { signIn: { node: { kind: "client-certificate", certificateFile: "/c", keyFile: "/k" } } },
      "signIn.node.certificateFile",
    ],
    ["an authority", { certificateAuthorityFile: "/etc/ca.pem" }, "certificateAuthorityFile"],
    ["a cloud's token", { cloud: { ...HCLOUD, tokenFile: "/run/token" } }, "cloud.tokenFile"],
    ["a cloud's secret", { cloud: { ...HCLOUD, credentials: { file: "/x" } } }, "cloud.credentials.file"],
    ["instances", { cloud: { provider: "memory", instancesFile: "/etc/passwd" } }, "cloud.instancesFile"],
    [
      "a management cluster's kubeconfig",
      relay({ kind: "minted-token", management: "kubernetes:/admin.kubeconfig", secret: "a/b", key: "k" }),
      "signIn.relay.management",
    ],
  ])("may not name a file as %s, whatever secrets are allowed", async (_, difference, path) => {
    const faults = await faultsOf(difference, "ssm:/,secretsmanager:prod");
    expect(faults[0]).toMatch(new RegExp(`^${path.replaceAll(".", "\\.")}: names a file`));
  });

  test("may have texts of its own under keys that are called like files", async () => {
    const rules = [{ names: ["*"], labels: { "example.com/file": "x", tokenFile: "y" } }];
    const tagging = { tags: { file: "x", someFile: "y" } };
    expect(await faultsOf({ cloud: { provider: "no-cloud", rules }, tagging })).toEqual([]);
  });

  const ssm = (ssmParameter: string, difference: object = {}) => ({ ssmParameter, ...difference });
  const secret = (secretsManager: string, difference: object = {}) => ({ secretsManager, ...difference });
  const ARN = "arn:aws:secretsmanager:eu-central-1:111111111111:secret:prod/x-AbCdEf";
  const OWN_ARN = "arn:aws:ssm:eu-central-1:111111111111:parameter/ccm/clusters/blue/token";
  const ROLE = { roleArn: "arn:aws:iam::222222222222:role/x" };
  test.each<[string, object, string | undefined]>([
    ["below the home's own path", ssm("/ccm/clusters/blue/token"), undefined],
    ["below the home's own path, by its ARN", ssm(OWN_ARN), undefined],
    ["under the prefix", ssm("/prod/token"), "ssm:/prod/"],
    ["under one of several prefixes", secret("prod/x"), "ssm:/prod/, secretsmanager:prod/"],
    ["under a prefix that is an ARN's", secret(ARN), `secretsmanager:${ARN.slice(0, -9)}`],
    ["of another account, as its ARN is allowed", secret(ARN, ROLE), `secretsmanager:${ARN.slice(0, -9)}`],
  ])("may name a secret %s", async (_, from, allowed) => {
    expect(await faultsOf({ signIn: { relay: { kind: "token", from } } }, allowed)).toEqual([]);
  });

  test.each<[string, object, string | undefined]>([
    ["that is not allowed", ssm("/prod/token"), undefined],
    ["beside the prefix", ssm("/production/token"), "ssm:/prod/"],
    ["beside the home's own path", ssm("/ccm/clusters-of-others/token"), undefined],
    ["of the other store", secret("/prod/token"), "ssm:/prod/"],
    ["by an ARN, where a name is allowed", secret(ARN), "secretsmanager:prod/"],
    ["of another account", ssm("/prod/token", ROLE), "ssm:/prod/"],
    ["of another account, below the home's path", ssm("/ccm/clusters/blue/token", ROLE), undefined],
    ["where the setting is rubbish", ssm("/prod/token"), "/prod/"],
    ["where the setting allows nothing", ssm("/prod/token"), "ssm:"],
  ])("may not name a secret %s", async (_, from, allowed) => {
    const faults = [
      ...(await faultsOf({ signIn: { relay: { kind: "token", from } } }, allowed)),
      ...(await faultsOf({ cloud: { ...HCLOUD, credentials: from } }, allowed)),
    ];
    expect(faults).toEqual([
      expect.stringMatching(/^signIn\.relay\.from: .*--allowed-secrets/),
      expect.stringMatching(/^cloud\.credentials: .*ALLOWED_SECRETS/),
    ]);
  });

  test.each(["", "rubbish", "[]", "{", '{"name":"blue","signIn":{"relay":{"file":{}}}}', "&a [*a]"])(
    "is faulty, and no more, where it is %j",
    async (text) => {
      const { clusters, faulty } = await (await homeOf(text)).read();
      expect([clusters, faulty.map(({ name }) => name)]).toEqual([[], ["blue"]]);
    },
  );
});

test("every key of an entry that names a file is one that is refused", () => {
  const options = { io: "input", unrepresentable: "any", reused: "inline" } as const;
  const { files, records } = keysIn(z.toJSONSchema(ClusterEntry, options));
  // A new key that names a file ends so; a new map of free keys is named in src/config/registry/entry-references.ts.
  expect([...files].filter((key) => !/(^file|File|-file)$/.test(key))).toEqual([
    "clusterServiceSharedLoadBalancerHealthProbePath",
  ]);
  expect([...records].sort()).toEqual([
    ..."defined freeform labels quotas securityLists server-metadata tags".split(" "),
  ]);
});

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: unknown;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
}

/** Returns keys that look like files, and keys of maps with free keys. */
function keysIn(schema: object): { readonly files: Set<string>; readonly records: Set<string> } {
  const [files, records] = [new Set<string>(), new Set<string>()];
  function walk(node: JsonSchema, key: string): void {
    if (typeof node.additionalProperties === "object") records.add(key);
    for (const [name, value] of Object.entries(node.properties ?? {})) {
      if (/file|path/i.test(name)) files.add(name);
      walk(value, name);
    }
    const { anyOf = [], oneOf = [], allOf = [], items } = node;
    for (const each of [...anyOf, ...oneOf, ...allOf, ...(items === undefined ? [] : [items])])
      walk(each, key);
  }
  walk(schema, "");
  return { files, records };
}
