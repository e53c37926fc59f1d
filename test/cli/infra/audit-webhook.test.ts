import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { type AuditWebhookFlags, printAuditWebhook } from "#cli/infra/audit-webhook.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { createVerifySignature, parsePublicKeys } from "#functions/parts/cluster-signature.ts";
import { runProgram } from "#test/cli/program.ts";
import { getSigningKey } from "#test/functions/admission/review-builders.ts";

const FUNCTION_URL = "https://abc.lambda-url.eu-central-1.on.aws/";

let folder: string;
let key: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "audit-webhook-"));
  key = join(folder, "key.pem");
  await writeFile(key, getSigningKey(), { mode: 0o600 });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function print(flags: Partial<AuditWebhookFlags>): Promise<string> {
  let text = "";
  await printAuditWebhook(
    {
      ...{
        signingKey: key,
        publicKey: false,
        functionUrl: FUNCTION_URL,
        clusterName: "blue",
        controllers: "*",
      },
      ...flags,
    },
    (more) => {
      text += more;
    },
  );
  return text;
}

/** The printed policy and kubeconfig. */
async function printDocuments(flags: Partial<AuditWebhookFlags> = {}) {
  const [policy, kubeconfig] = parseAllDocuments(await print(flags)).map((each) => each.toJS());
  return { policy, kubeconfig };
}

test("prints a kubeconfig with a token for this cluster only, by the public key that it prints", async () => {
  const keys = parsePublicKeys((await print({ publicKey: true })).trimEnd());
  const verify = createVerifySignature("audit", keys.kind === "keys" ? keys.keys : []);
  const { kubeconfig } = await printDocuments();
  const { token } = kubeconfig.users[0].user;
  expect(kubeconfig.clusters[0].cluster).toEqual({ server: `${FUNCTION_URL}audit/blue` });
  expect([verify("blue", token), verify("red", token)]).toEqual([true, false]);
});

test.each([
  ["*", [["", "nodes"]], false],
  [
    "*,csr-approver",
    [
      ["", "nodes"],
      ["certificates.k8s.io", "certificatesigningrequests"],
    ],
    false,
  ],
  ["*,service-lb-controller", [["", "nodes,services"]], true],
  ["node-route-controller", [["", "nodes"]], true],
] as const)(
  "the policy for %s reports %j, and changes by the node function: %s",
  async (controllers, resources, isReported) => {
    const { policy } = await printDocuments({ controllers });
    const [ours, changes, others] = policy.rules;
    expect(
      changes.resources.map((each: { group: string; resources: string[] }) => [
        each.group,
        each.resources.join(),
      ]),
    ).toEqual(resources);
    expect(changes).toMatchObject({
      level: "Metadata",
      verbs: ["create", "update", "patch", "delete", "deletecollection"],
    });
    expect(others).toEqual({ level: "None" });
    expect(policy.omitStages).toEqual(["RequestReceived", "ResponseStarted", "Panic"]);
    expect(ours.level).toBe("None");
    for (const user of ["serverless-ccm-node", "system:serviceaccount:kube-system:serverless-ccm-node"])
      expect(ours.users.includes(user)).toBe(!isReported);
    expect(ours.users).toContain("serverless-ccm-tagging");
  },
);

test("writes both files, the token readable by their owner only, and prints the flags", async () => {
  const authority = join(folder, "ca.crt");
  const { certificate } = await createCertificateAuthority();
  await writeFile(authority, certificate);
  const home = join(folder, "api-server");
  const flags = (await print({ folder: home, certificateAuthority: authority })).trimEnd().split("\n");
  expect(flags).toEqual([
    `--audit-policy-file=${home}/audit-policy.yaml`,
    `--audit-webhook-config-file=${home}/audit-webhook.kubeconfig`,
    "--audit-webhook-mode=batch",
    "--audit-webhook-batch-max-wait=1s",
  ]);
  const { policy } = await printDocuments();
  expect(parse(await readFile(`${home}/audit-policy.yaml`, "utf8"))).toEqual(policy);
  const written = parse(await readFile(`${home}/audit-webhook.kubeconfig`, "utf8"));
  expect(Buffer.from(written.clusters[0].cluster["certificate-authority-data"], "base64").toString()).toBe(
    certificate,
  );
  expect((await stat(`${home}/audit-webhook.kubeconfig`)).mode & 0o777).toBe(0o600);
});

test("runs as the guide describes", async () => {
  const { code, stdout } = await runProgram([
    ...["infra", "audit-webhook", "--signing-key", key, "--cluster-name", "blue"],
    ...["--function-url", FUNCTION_URL],
  ]);
  expect([code, stdout]).toEqual([0, expect.stringContaining("--audit-webhook-batch-max-wait=1s")]);
});

test.each<[string, Partial<AuditWebhookFlags>, readonly string[]]>([
  [
    "nothing",
    { signingKey: undefined, functionUrl: undefined, clusterName: undefined },
    ["--signing-key", "--function-url", "--cluster-name"],
  ],
  ["a missing key", { signingKey: "/nowhere" }, ["--signing-key"]],
  ["a URL without TLS", { functionUrl: "http://abc.on.aws/" }, ["--function-url"]],
  ["a URL with a path", { functionUrl: `${FUNCTION_URL}audit` }, ["--function-url"]],
  ["a faulty name", { clusterName: "Blue/.." }, ["--cluster-name"]],
  ["an unknown controller", { controllers: "nodes" }, ["--controllers"]],
  ["an invalid authority", { certificateAuthority: "/dev/null" }, ["--certificate-authority"]],
  ["a folder that is a file", { folder: "/dev/null/a" }, ["--folder"]],
  ["a public key of no key", { publicKey: true, signingKey: undefined }, ["--signing-key"]],
])("names each fault of %s", async (_, flags, names) => {
  const error = await print(flags).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigurationError);
  expect((error as ConfigurationError).faults.map(({ name }) => name)).toEqual(names);
});
