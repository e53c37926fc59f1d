import { describe, expect, test } from "vitest";
import { CLOUD_PROVIDERS } from "#clouds/providers.ts";
import { ClustersFileError, formatFault, parseClustersFile } from "#config/clusters-file.ts";

const VALID = `clusters:
  - name: blue
    server: https://api.blue.example
    cloud: { provider: memory, instancesFile: instances.json }
`;
const BLUE = VALID.split("\n").slice(1).join("\n");
const GREEN = BLUE.replaceAll("blue", "green");
const PROVIDERS = CLOUD_PROVIDERS.map(({ provider }) => provider).join(", ");

describe("a clusters file", () => {
  test("fills in the defaults", () => {
    expect(parseClustersFile(VALID, "clusters.yaml")).toMatchObject({
      clusters: [{ name: "blue", limits: { invocations: 4 }, policies: { dryRun: false } }],
      faulty: [],
    });
  });

  test("of an explicit empty list says that there are no clusters", () => {
    expect(parseClustersFile("clusters: []", "clusters.yaml")).toEqual({ clusters: [], faulty: [] });
  });

  test.each<[string, string, string[]]>([
    [
      "nothing",
      "",
      [": empty; a list is expected, each with its name, server and cloud, under the key clusters"],
    ],
    ["no entries", "clusters:", [":1:1: clusters: is missing; give a list"]],
    ["no list", "clusters: blue", [":1:1: clusters: give a list"]],
    ["no mapping", "blue", [":1:1: give a mapping of keys to values"]],
    ["a key beside the list", `${VALID}cluster: 1\n`, [":5:1: cluster: unknown key; did you mean clusters?"]],
    ["a key twice", `${VALID}    name: green\n`, [":5:5: a key that stands here twice"]],
    ["a tab", "clusters:\n\t- a: b", [":2:1: a tab; YAML is indented with spaces alone"]],
    ["two documents", `${VALID}---\n${VALID}`, [":5:1: Source contains multiple documents"]],
    ["a tag", "clusters: !js x", [":1:11: Unresolved tag: !js"]],
    ["an alias of nothing", "clusters: *x", [": an alias of nothing, or aliases that multiply"]],
    ["aliases that multiply", bomb(), [": an alias of nothing, or aliases that multiply"]],
    [
      "the stock controller's cloud-config",
      "; ours\n\n[Global]\nZone=eu-central-1a\n",
      [":1:1: this is INI, as the stock controller's cloud-config is; a clusters file is YAML"],
    ],
  ])("of %s is rejected, with reason and position", (_, text, lines) => {
    const error = failureOf(() => parseClustersFile(text, "clusters.yaml"));
    expect(error).toMatchObject({ name: "ClustersFileError", code: "Invalid", file: "clusters.yaml" });
    expect(error.faults.map((fault) => formatFault("clusters.yaml", fault))).toEqual(
      lines.map((line) => expect.stringContaining(`clusters.yaml${line}`)),
    );
  });

  test("that is too large is rejected", () => {
    expect(failureOf(() => parseClustersFile(" ".repeat(4 * 1024 * 1024 + 1), "f"))).toMatchObject({
      code: "TooLarge",
    });
  });
});

describe("a faulty entry", () => {
  test.each<[string, string, string | undefined, string[]]>([
    [
      "with many faults tells them all, where they stand and what is allowed there",
      `  - name: red
    server: http://x
    cloud: { provider: gcp }
    sevrer: 1
    limits: { invocations: many, requestsPerFuncion: 3, floorShare: 0 }
    policies: []
    signIn:
      relay: { kind: token-fil, file: /tokens/relay }
      functions: { kind: client-certificate, certificateFile: 7 }
`,
      "red",
      [
        `6:5: cluster red: server: "http://x" cannot be used; give the https:// base URL of the API server, such as https://tenant-a.example.com:6443`,
        `7:14: cluster red: cloud.provider: "gcp" cannot be used; give one of ${PROVIDERS}`,
        "8:5: cluster red: sevrer: unknown key; did you mean server?",
        `9:15: cluster red: limits.invocations: "many" cannot be used; give a number`,
        "9:34: cluster red: limits.requestsPerFuncion: unknown key; did you mean requestsPerFunction?",
        `9:57: cluster red: limits.floorShare: "0" cannot be used; give a number of more than 0`,
        "10:5: cluster red: policies: give a mapping of keys to values",
        `12:16: cluster red: signIn.relay.kind: "token-fil" cannot be used; did you mean token-file? give one of token-file, token, client-certificate, kubeconfig, eks, web-identity, minted-token`,
        "13:7: cluster red: signIn.functions.keyFile: is missing; give the file of the certificate's key",
        "13:46: cluster red: signIn.functions.certificateFile: give a text",
      ],
    ],
    [
      "without its keys tells which are missing",
      "  - { name: red, cloud: { provider: aws, vcp: vpc-0a } }\n",
      "red",
      [
        "5:5: cluster red: server: is missing; give the https:// base URL of the API server, such as https://tenant-a.example.com:6443",
        "5:18: cluster red: cloud.region: is missing; give an AWS region such as eu-central-1",
        "5:42: cluster red: cloud.vcp: unknown key; did you mean vpc?",
      ],
    ],
    [
      "without any word for a key says which there are",
      "  - { name: red, server: https://x, cloud: { provider: memory, instancesFile: x }, policies: { cpu: 1 } }\n",
      "red",
      ["5:96: cluster red: policies.cpu: unknown key; known here are dryRun, labelsOnly"],
    ],
    [
      "with an invalid name is reported by its position",
      BLUE.replace("name: blue", "name: Blue"),
      undefined,
      [
        `5:5: entry 2: name: "Blue" cannot be used; give lower-case letters, digits, '-' and '.', as a DNS name`,
      ],
    ],
    [
      "that is no mapping has no name",
      "  - 7\n",
      undefined,
      ["5:5: entry 2: give a mapping of keys to values"],
    ],
    [
      "with a password in its server says so, and not which",
      BLUE.replace("api.blue", "me:s3cret@api.blue"),
      "blue",
      ["6:5: cluster blue: server: holds a user name or password; how one signs in stands under signIn"],
    ],
    [
      "with characters that act is shown without them",
      BLUE.replace("https://api.blue.example", '"\\e[2J\\nforged"'),
      "blue",
      [
        String.raw`6:5: cluster blue: server: "\u{001B}[2J\u{000A}forged" cannot be used; give the https:// base URL of the API server, such as https://tenant-a.example.com:6443`,
      ],
    ],
  ])("%s, and the other one is a cluster", (_, entry, name, lines) => {
    const parsed = parseClustersFile(`clusters:\n${GREEN}${entry}`, "f");
    expect(parsed.clusters.map((cluster) => cluster.name)).toEqual(["green"]);
    expect(parsed.faulty.map((each) => each.name)).toEqual([name]);
    const told = parsed.faulty.flatMap(({ faults }) => faults.map((fault) => formatFault("f", fault)));
    expect(told).toEqual(lines.map((line) => `f:${line}`));
  });

  test("says nothing of a value that may be a secret", () => {
    const secret = BLUE.replace(
      "cloud:",
      "signIn: { relay: { kind: token-file, file: [s3cret] } }\n    cloud:",
    );
    const wrong = secret.replace("memory", "digitalocean, tokenFile: [s3cret], apiURL: s3cret");
    const { faulty } = parseClustersFile(`clusters:\n${wrong}`, "f");
    expect(faulty[0]?.faults.length).toBeGreaterThan(3);
    expect(JSON.stringify(faulty)).not.toContain("s3cret");
  });

  test("makes others of the same name faulty too, and no other entry", () => {
    const parsed = parseClustersFile(VALID + GREEN + BLUE, "f");
    expect(parsed.clusters.map(({ name }) => name)).toEqual(["green"]);
    expect(parsed.faulty).toEqual([
      {
        name: "blue",
        faults: [
          {
            path: "clusters[0].name",
            line: 2,
            column: 5,
            subject: "cluster blue: name",
            message: "the same name as in line 8; names are unique in the file",
          },
        ],
      },
      {
        name: "blue",
        faults: [
          {
            path: "clusters[2].name",
            line: 8,
            column: 5,
            subject: "cluster blue: name",
            message: "the same name as in line 2; names are unique in the file",
          },
        ],
      },
    ]);
    const [first] = parseClustersFile(VALID + BLUE + BLUE, "f").faulty;
    expect(first?.faults[0]?.message).toContain("lines 5, 8");
  });
});

function failureOf(act: () => unknown): ClustersFileError {
  try {
    act();
  } catch (error) {
    if (error instanceof ClustersFileError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

/** Aliases of aliases, 2^n times as large as they look. */
function bomb(): string {
  const lines = ["a0: &a0 [x]"];
  for (let n = 1; n < 30; n += 1) lines.push(`a${n}: &a${n} [*a${n - 1}, *a${n - 1}]`);
  return lines.join("\n");
}
