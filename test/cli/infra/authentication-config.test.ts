import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { ConfigurationError } from "#cli/configuration-error.ts";
import {
  type AuthenticationConfigFlags,
  printAuthenticationConfig,
} from "#cli/infra/authentication-config.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { runProgram } from "#test/cli/program.ts";

const URL = "https://1234abcd.tokens.sts.global.api.aws";
const roleOf = (name: string, account = "111122223333"): string => `arn:aws:iam::${account}:role/ccm-${name}`;
const FLAGS: AuthenticationConfigFlags = {
  issuer: [URL],
  role: [`node=${roleOf("node")}`],
  clusterName: "tenant-a",
  serverVersion: "1.36",
};
const OIDC = { oidcIssuerUrl: "https://idp.example.com", oidcClientId: "kubernetes" };

let folder: string;
let authority: string;
const inFolder = async (name: string, text: string): Promise<string> => {
  await writeFile(join(folder, name), text);
  return join(folder, name);
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "authentication-config-"));
  authority = await inFolder("ca.pem", (await createCertificateAuthority()).certificate);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Printed {
  readonly text: string;
  readonly notes: readonly string[];
}

async function printed(flags: AuthenticationConfigFlags, environment = {}): Promise<Printed> {
  const [texts, notes]: [string[], string[]] = [[], []];
  await printAuthenticationConfig(
    flags,
    environment,
    (text) => texts.push(text),
    (line) => notes.push(line),
  );
  return { text: texts.join(""), notes };
}

/** Returns the faults, a line each. */
async function faultsOf(flags: AuthenticationConfigFlags): Promise<readonly string[]> {
  const error = await printed(flags).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConfigurationError)) throw error ?? new Error("nothing is wrong");
  return error.faults.map(({ name, message }) => `${name}: ${message}`.replaceAll(folder, ""));
}

describe("roles in a deployment's output", () => {
  const arnOf = (name: string): string => `arn:aws:iam::111122223333:role/stack-${name}-1ABC`;
  const stackOf = (outputs: Readonly<Record<string, string>>): string =>
    JSON.stringify({
      Stacks: [
        {
          StackName: "serverless-ccm-prod",
          Outputs: Object.entries(outputs).map(([OutputKey, OutputValue]) => ({ OutputKey, OutputValue })),
        },
      ],
    });
  const { role: _, ...withoutRole } = FLAGS;
  const from = async (text: string): Promise<AuthenticationConfigFlags> => ({
    ...withoutRole,
    rolesFrom: await inFolder("roles.json", text),
  });
  const stack = stackOf({
    NodeFunctionRoleArn: arnOf("node"),
    Ec2EventsFunctionRoleArn: arnOf("events"),
    AdmissionFunctionRoleArn: arnOf("admission"),
    NodeFunctionArn: "arn:aws:lambda:eu-central-1:111122223333:function:serverless-ccm-prod-node",
  });
  const terraform = JSON.stringify({
    node: arnOf("node"),
    "ec2-events": arnOf("events"),
    admission: arnOf("admission"),
  });

  test.each([
    ["a stack", stack],
    ["Terraform", terraform],
  ])("are those of the functions that sign in, as %s prints them", async (_name, text) => {
    const given = [`node=${arnOf("node")}`, `ec2-events=${arnOf("events")}`];
    const wanted = await printed({ ...withoutRole, role: given });
    expect(await printed(await from(text))).toEqual(wanted);
  });

  test("are combined with those of --role, such as the relay's", async () => {
    const role = [`relay=${arnOf("relay")}`, `node=${arnOf("node-before")}`];
    const { text } = await printed({ ...(await from(stack)), role });
    for (const name of ["relay", "node-before", "node", "events"]) expect(text).toContain(arnOf(name));
  });

  test.each([
    ["nothing", ""],
    ["no JSON", "Stacks:"],
    ["another program's output", '{"Stacks": [{"Outputs": {"NodeFunctionRoleArn": "arn:aws:iam"}}]}'],
    ["whole outputs of Terraform", '{"role_arns": {"value": {"node": "arn:aws:iam::1:role/a"}}}'],
    ["a list", "[]"],
    ["no stack", '{"Stacks": []}'],
  ])("are rejected if the file has %s", async (_name, text) => {
    expect(await faultsOf(await from(text))).toEqual([
      "--roles-from: /roles.json is neither what `aws cloudformation describe-stacks` prints nor `terraform output -json role_arns`",
    ]);
  });

  test.each([
    [
      "a stack without outputs",
      '{"Stacks": [{"StackName": "a"}]}',
      "names no role of a function; a stack has",
    ],
    [
      "a stack of an older version",
      stackOf({ Url: "https://a" }),
      "names no role of a function; a stack has",
    ],
    ["an empty map", "{}", "names no role of a function; a stack has"],
    ["two stacks", '{"Stacks": [{}, {}]}', "is about 2 stacks; print the one of this deployment"],
  ])("are missing in %s", async (_name, text, said) => {
    const faults = await faultsOf(await from(text));
    expect(faults).toEqual([expect.stringContaining(`--roles-from: /roles.json ${said}`)]);
  });

  test("are rejected like those of --role, under their own flag", async () => {
    const session = "arn:aws:sts::111122223333:assumed-role/node/i-1";
    expect(await faultsOf(await from(stackOf({ NodeFunctionRoleArn: session })))).toEqual([
      expect.stringContaining(`--roles-from: node: "${session}" is a session of a role`),
    ]);
    const twice = { ...(await from(stack)), role: [`csr=${arnOf("node")}`] };
    expect(await faultsOf(twice)).toEqual([
      expect.stringContaining(`--role: ${arnOf("node")} is node and csr`),
    ]);
  });

  test("require that their file exists", async () => {
    expect(await faultsOf({ ...withoutRole, rolesFrom: join(folder, "none.json") })).toEqual([
      "--roles-from: /none.json cannot be read (ENOENT)",
    ]);
  });
});

describe("a new file", () => {
  test("says in comments what to do, and what must be reachable", async () => {
    const { text } = await printed(FLAGS);
    const comments = text.split("\n").filter((line) => /^\s*#/.test(line));
    for (const words of [
      "--authentication-config=FILE",
      "--oidc-*",
      `${URL}/.well-known/openid-configuration`,
      "jwks_uri",
      "egress",
    ])
      expect(comments.join("\n")).toContain(words);
  });

  test.each([
    ["1.30", "v1beta1"],
    ["v1.33.13", "v1beta1"],
    ["1.34", "v1"],
    ["v1.37.1-eks-abc", "v1"],
    ["1.36+", "v1"],
  ])("for %s is %s", async (serverVersion, version) => {
    const { text } = await printed({ ...FLAGS, serverVersion });
    expect(parse(text).apiVersion).toBe(`apiserver.config.k8s.io/${version}`);
  });

  test("has the audience of the cluster, and other given ones", async () => {
    const audiences = async (difference: AuthenticationConfigFlags): Promise<unknown> =>
      parse((await printed({ ...FLAGS, ...difference })).text).jwt[0].issuer.audiences;
    expect(await audiences({})).toEqual(["serverless-ccm:tenant-a"]);
    expect(await audiences({ audience: ["x", "serverless-ccm:tenant-a"] })).toEqual([
      "serverless-ccm:tenant-a",
      "x",
    ]);
    expect(await audiences({ clusterName: undefined, audience: ["x"] })).toEqual(["x"]);
  });

  test("has for each account its issuer, its roles and its own settings", async () => {
    const { text } = await printed({
      ...FLAGS,
      issuer: [`111122223333=${URL}`, `444455556666=${URL}/2`],
      role: [`node=${roleOf("node", "444455556666")}`, `relay=${roleOf("relay")}`, `node=${roleOf("node")}`],
      discoveryUrl: ["444455556666=https://mirror.example.com/d"],
      certificateAuthority: [`444455556666=${authority}`],
      egressSelector: "controlplane",
    });
    const [one, two] = parse(text).jwt;
    expect(one.issuer).toEqual({
      url: URL,
      audiences: ["serverless-ccm:tenant-a"],
      egressSelectorType: "controlplane",
    });
    expect(two.issuer).toMatchObject({
      url: `${URL}/2`,
      discoveryURL: "https://mirror.example.com/d",
      certificateAuthority: expect.stringContaining("BEGIN CERTIFICATE"),
    });
    expect(one.claimMappings.username.expression).toBe(
      `{\n  '${roleOf("relay")}': 'serverless-ccm-relay',\n  '${roleOf("node")}': 'serverless-ccm-node'\n}[claims.sub]`,
    );
    expect(two.claimMappings.username.expression).not.toContain("111122223333");
  });

  test("may contain --oidc-* flags only, with the authority of their file", async () => {
    const { text } = await printed({ ...OIDC, oidcCaFile: authority, serverVersion: "1.36" });
    expect(parse(text).jwt).toEqual([
      {
        issuer: {
          url: OIDC.oidcIssuerUrl,
          certificateAuthority: expect.stringContaining("BEGIN"),
          audiences: ["kubernetes"],
        },
        claimMappings: { username: { claim: "sub", prefix: `${OIDC.oidcIssuerUrl}#` } },
      },
    ]);
    expect(text).toContain("# --oidc-signing-algs RS256 has no equivalent");
  });
});

describe("strings that kube-apiserver's YAML would misread are in quotes", () => {
  const flags = {
    ...OIDC,
    oidcClientId: "on",
    oidcRequiredClaim: ["hd=yes", "n=1_000", "o=017", "d=2026-01-01", "e=", "x=~", "t=1:30"],
    serverVersion: "1.36",
  };
  // Parses as sigs.k8s.io/yaml does, which is YAML 1.1.
  const entryOf = (text: string): unknown => parse(text, { version: "1.1" }).jwt[0];
  const expected = {
    issuer: { audiences: ["on"] },
    claimValidationRules: ["yes", "1_000", "017", "2026-01-01", "", "~", "1:30"].map((requiredValue) => ({
      requiredValue,
    })),
  };

  test("in a new file", async () => {
    expect(entryOf((await printed(flags)).text)).toMatchObject(expected);
  });

  test("in a merged file", async () => {
    const merge = await inFolder(
      "few.yaml",
      "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n",
    );
    expect(entryOf((await printed({ ...flags, merge })).text)).toMatchObject(expected);
  });
});

describe("merging", () => {
  const EXISTING = `# of the platform team
apiVersion: apiserver.config.k8s.io/v1beta1   # since 1.30
kind: AuthenticationConfiguration
anonymous:
  enabled: true
  conditions: [ { path: /livez } ]   # probes
jwt:
  # people
  - issuer:
      url: https://idp.example.com   # the IdP
      audiences: [ kubernetes ]
    claimMappings:
      username: { claim: sub, prefix: "oidc:" }
`;

  test("keeps comments and order of the file, and changes nothing when repeated", async () => {
    const merge = await inFolder("existing.yaml", EXISTING);
    const once = await printed({ ...FLAGS, merge });
    const kept = EXISTING.replace("v1beta1 ", "v1 ").replaceAll(/ +#/g, " #").split("\n");
    for (const line of kept) expect(once.text.replaceAll(/ +#/g, " #")).toContain(line.trim());
    expect(parse(once.text).jwt).toHaveLength(2);
    expect(once.text.match(/For the keys kube-apiserver asks/g)).toHaveLength(1);
    const again = await printed({ ...FLAGS, merge: await inFolder("once.yaml", once.text) });
    expect(again).toEqual(once);
    const more = await printed({ ...FLAGS, audience: ["x"], merge: join(folder, "once.yaml") });
    expect(more.text.split("\n").filter((line) => !once.text.includes(line))).toEqual([
      "        - x",
      "      audienceMatchPolicy: MatchAny",
    ]);
  });

  test("into this command's own output adds what is new and keeps the rest, header included", async () => {
    const merge = await inFolder("ours.yaml", (await printed({ ...FLAGS, ...OIDC })).text);
    expect((await printed({ ...FLAGS, ...OIDC, merge })).text).toBe(
      (await printed({ ...FLAGS, ...OIDC })).text,
    );
    const { text } = await printed({ ...FLAGS, merge, role: [`relay=${roleOf("relay")}`] });
    expect(parse(text).jwt[1].claimMappings.username.expression).toContain(roleOf("relay"));
    expect(text.startsWith("# For kube-apiserver")).toBe(true);
  });

  test("accepts JSON and unknown keys, which it reports", async () => {
    const { issuer, ...rest } = parse(EXISTING).jwt[0];
    const json = { ...parse(EXISTING), jwt: [{ ...rest, issuer: { ...issuer, tokenType: "at+jwt" } }] };
    const { text, notes } = await printed({
      ...FLAGS,
      merge: await inFolder("existing.json", JSON.stringify(json)),
    });
    expect(parse(text).jwt[0].issuer).toMatchObject({ tokenType: "at+jwt" });
    expect(notes).toEqual([expect.stringContaining("existing.json: jwt[0].issuer.tokenType is not a key")]);
  });

  const HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n";
  test.each<[string, string, readonly (string | RegExp)[]]>([
    [
      "nothing, as a shell leaves it that prints to it",
      "",
      [/^--merge \/f: is empty; print to another file/],
    ],
    ["no YAML", "a: [", [/^--merge \/f:1:\d/]],
    ["a key twice", `${HEAD}jwt: []\njwt: []\n`, [/^--merge \/f:4:1: .*twice/]],
    ["something else", "- 1\n", [/^--merge \/f:1:1: /]],
    ["another kind and another version", "apiVersion: v1\nkind: Config\n", [/apiVersion/, /kind/]],
    [
      "invalid entries",
      `${HEAD}jwt:\n  - issuer: { url: u }\n  - {}\n`,
      [/^--merge \/f:4:5: jwt\[0\].issuer.audiences/, /^--merge \/f:5:5: jwt\[1\].issuer/],
    ],
    [
      "our issuer in another entry",
      `${HEAD}jwt:\n  - issuer: { url: ${URL}, audiences: [a] }\n    claimMappings: { username: { claim: sub, prefix: "" } }\n`,
      [/^\/f: jwt\[0\]: has an entry of this issuer/],
    ],
  ])("rejects %s", async (_, text, faults) => {
    const merge = await inFolder("f", text);
    expect(await faultsOf({ ...FLAGS, merge })).toEqual(faults.map((fault) => expect.stringMatching(fault)));
  });

  test("rejects aliases that share what must differ", async () => {
    const ours = (await printed(FLAGS)).text;
    const shared = ours.replace(
      "      audiences:\n        - serverless-ccm:tenant-a",
      "      audiences: &all [serverless-ccm:tenant-a]",
    );
    const other = `  - issuer: { url: "https://idp.example.com", audiences: *all }\n    claimMappings: { username: { claim: sub, prefix: "" } }\n`;
    const merge = await inFolder("shared.yaml", `${shared}${other}`);
    expect(await faultsOf({ ...FLAGS, audience: ["x"], merge })).toEqual([
      expect.stringMatching(/shared.yaml: has anchors/),
    ]);
    // Nothing must differ here.
    expect((await printed({ ...FLAGS, merge })).text).toBe(`${shared}${other}`);
  });
});

test.each<[string, AuthenticationConfigFlags, readonly RegExp[]]>([
  [
    "nothing at all",
    {},
    [
      /^--role: is missing/,
      /^--cluster-name: is missing/,
      /^--issuer: is missing/,
      /^--server-version: is missing/,
    ],
  ],
  [
    "invalid roles",
    {
      ...FLAGS,
      role: [
        "nod=x",
        "node",
        "node=arn:aws:iam::1:role/x",
        "relay=arn:aws:sts::111122223333:assumed-role/x/y",
        `csr=${roleOf("node")}`,
        `node=${roleOf("node")}`,
      ],
    },
    [
      /did you mean node/,
      /not an identity and its role/,
      /node: .*is no arn:/,
      /relay: .*session/,
      /is csr and node: a role is one user/,
    ],
  ],
  ["invalid issuers", { ...FLAGS, issuer: ["http://x"] }, [/^--issuer: "http:\/\/x" is not an https URL/]],
  [
    "two issuers of unknown accounts",
    { ...FLAGS, issuer: [URL, `${URL}/2`] },
    [/which account/, /which account/],
  ],
  [
    "one issuer for two accounts",
    { ...FLAGS, role: [`node=${roleOf("node")}`, `relay=${roleOf("relay", "444455556666")}`] },
    [/--issuer: is one, and the roles are of 111122223333 and 444455556666/],
  ],
  [
    "an issuer without a role, and one twice",
    { ...FLAGS, issuer: [`111122223333=${URL}`, `111122223333=${URL}`, `444455556666=${URL}`] },
    [/given twice for account 1/, /account 444455556666, of which there is no --role/],
  ],
  [
    "one issuer for two accounts by name",
    {
      ...FLAGS,
      issuer: [`111122223333=${URL}`, `444455556666=${URL}`],
      role: [`node=${roleOf("node")}`, `relay=${roleOf("relay", "444455556666")}`],
    },
    [/^jwt\[1\].issuer.url: repeats the value of jwt\[0\]/],
  ],
  [
    "invalid names, audiences and times",
    {
      ...FLAGS,
      clusterName: "Tenant A",
      audience: ["", "a b"],
      maxTokenLifetime: "2h",
      egressSelector: "etcd",
    },
    [
      /^--cluster-name/,
      /--audience: "" is empty/,
      /--audience: "a b" has blanks/,
      /^--egress-selector/,
      /^--max-token-lifetime: "2h"/,
    ],
  ],
  [
    "missing or invalid files",
    {
      ...FLAGS,
      certificateAuthority: ["/nowhere"],
      merge: "/nowhere-else",
      ...OIDC,
      oidcCaFile: "/dev/null",
    },
    [
      /^--oidc-ca-file: \/dev\/null is not a regular file/,
      /^--certificate-authority: \/nowhere cannot be read \(ENOENT\)/,
      /^--merge \/nowhere-else: cannot be read/,
    ],
  ],
  ["invalid versions", { ...FLAGS, serverVersion: "36" }, [/"36" is not a version/]],
  [
    "versions that are too old",
    { ...FLAGS, serverVersion: "v1.29.3" },
    [/1\.29 takes no AuthenticationConfiguration/],
  ],
  [
    "an invalid kubeconfig",
    { ...FLAGS, serverVersion: undefined, kubeconfig: "/nowhere" },
    [/^--kubeconfig: \/nowhere/],
  ],
  [
    "invalid --oidc-* flags",
    { ...FLAGS, oidcGroupsClaim: "groups" },
    [/^--oidc-issuer-url: is missing/, /^--oidc-client-id: is missing/],
  ],
])("all faults are reported at once: %s", async (_, flags, faults) => {
  expect(await faultsOf(flags)).toEqual(faults.map((fault) => expect.stringMatching(fault)));
});

test("the program ends with 2 and prints no file after a fault", async () => {
  const ended = await runProgram(["infra", "authentication-config", "--issuer", "x"], "", { KUBECONFIG: "" });
  expect(ended).toMatchObject({ code: 2, stdout: "" });
  expect(ended.stderr).toContain("--role: is missing");
});
