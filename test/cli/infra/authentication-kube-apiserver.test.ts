import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { formatUser, IDENTITIES } from "#core/identities.ts";
import type { ControlPlaneUsers } from "#emulators/harness/control-plane.ts";
import { type KubeApiserver, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { printFile, readUser, sendWith, waitForStatus } from "#test/cli/infra/signing-in.ts";
import { buildAwsClaims } from "#test/issuer/aws-claims.ts";
import {
  type Claims,
  type LocalIssuer,
  type SigningOptions,
  startIssuer,
} from "#test/issuer/local-issuer.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const URL = "https://1234abcd.tokens.sts.global.api.aws";
const ACCOUNT = "111122223333";
/** AWS allows quotes in a path; this one contains what would break out of CEL. */
const PATH = "it's']||true||['";
const ROLES = Object.fromEntries(
  IDENTITIES.map((identity) => [identity, `arn:aws:iam::${ACCOUNT}:role/${PATH}/ccm-${identity}`]),
);
const NODE = ROLES["node"] ?? "";
const AUDIENCE = "serverless-ccm:tenant-a";

/** Another AWS account, with its own issuer, whose functions also work for the cluster. */
const SECOND = "444455556666";
const SECOND_NODE = `arn:aws:iam::${SECOND}:role/ccm-node`;

const claimsOf = (difference: Claims = {}): Claims => ({
  ...buildAwsClaims({ roleArn: NODE, audiences: [AUDIENCE] }),
  ...difference,
});
const now = (): number => Math.floor(Date.now() / 1_000);

describeWithPart("control-plane", "an API server with a printed file", (binaries) => {
  let folder: string;
  let issuer: LocalIssuer;
  let second: LocalIssuer;
  let other: LocalIssuer;
  let plane: KubeApiserver;
  let flags: readonly string[];
  const file = (): string => join(folder, "authentication.yaml");
  const nodeToken = (difference: Claims = {}, how: SigningOptions = {}): string =>
    issuer.sign(claimsOf(difference), how);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "authentication-"));
    issuer = await startIssuer({ issuer: URL });
    [second, other] = [await startIssuer(), await startIssuer()];
    const [one, two] = [join(folder, "issuer.pem"), join(folder, "second.pem")];
    await writeFile(one, issuer.certificateAuthority);
    await writeFile(two, second.certificateAuthority);
    flags = [
      ...["--issuer", `${ACCOUNT}=${URL}`, "--issuer", `${SECOND}=${second.issuer}`],
      ...["--discovery-url", `${ACCOUNT}=${issuer.discoveryUrl}`],
      ...["--certificate-authority", `${ACCOUNT}=${one}`, "--certificate-authority", `${SECOND}=${two}`],
      ...["--role", `node=${SECOND_NODE}`],
      ...Object.entries(ROLES).flatMap(([identity, arn]) => ["--role", `${identity}=${arn}`]),
    ];
    await writeFile(
      file(),
      await printFile(...flags, "--cluster-name", "tenant-a", "--server-version", "1.33"),
    );
    plane = await startKubeApiserver({
      folder: join(folder, "plane"),
      binaries,
      flags: [`--authentication-config=${file()}`],
    });
    await waitForStatus(plane, nodeToken, 201);
  });
  afterAll(async () => {
    await plane?.close();
    await Promise.all([issuer, second, other].map((each) => each?.close()));
    await rm(folder, { recursive: true, force: true });
  });

  test.each(IDENTITIES)("maps the role of %s to its user, without other groups", async (identity) => {
    const token = issuer.sign(buildAwsClaims({ roleArn: ROLES[identity] ?? "", audiences: [AUDIENCE] }));
    expect(await readUser(plane, token)).toEqual({
      status: 201,
      username: formatUser(identity),
      groups: ["serverless-ccm", "system:authenticated"],
    });
  });

  test.each<[string, Claims, SigningOptions]>([
    ["that AWS signs by ES384", {}, { algorithm: "ES384" }],
    ["with its one audience as a list", { aud: [AUDIENCE] }, {}],
    ["that is valid for an hour", { iat: now(), exp: now() + 3_600 }, {}],
  ])("accepts a token %s", async (_, difference, how) => {
    expect((await readUser(plane, nodeToken(difference, how))).status).toBe(201);
  });

  const refused: readonly [what: string, difference: Claims, how?: SigningOptions][] = [
    ["for another cluster", { aud: "serverless-ccm:tenant-b" }],
    ["for another cluster, too", { aud: [AUDIENCE, "serverless-ccm:tenant-b"] }],
    ["without an audience", { aud: undefined }],
    ["of another role", { sub: `arn:aws:iam::${ACCOUNT}:role/other` }],
    ["of such a role of another account", { sub: NODE.replace(ACCOUNT, "999988887777") }],
    ["of a role with a longer name", { sub: `${NODE}-2` }],
    ["of a session of the role", { sub: `arn:aws:sts::${ACCOUNT}:assumed-role/ccm-node/x` }],
    ["of a user that is one of ours already", { sub: "serverless-ccm-node" }],
    ["of a user of Kubernetes' own", { sub: "system:admin" }],
    ["without a subject", { sub: undefined }],
    ["of a list of roles", { sub: [NODE] }],
    ["that says that another has issued it", { iss: "https://idp.example.com" }],
    ["that is not valid any more", { iat: now() - 600, exp: now() - 300 }],
    ["that is valid for longer than an hour", { iat: now(), exp: now() + 3_601 }],
    ["that does not say since when it is valid", { iat: undefined }],
    ["that is valid for ever", { exp: undefined }],
    ["without a signature", {}, { algorithm: "none" }],
    ["signed with another key", {}, { forged: true }],
    ["signed with another key of that kind", {}, { algorithm: "ES384", forged: true }],
  ];
  test.each(refused)("rejects a token %s", async (_, difference, how) => {
    expect(await readUser(plane, nodeToken(difference, how))).toEqual({ status: 401 });
    // Only that difference is the cause.
    expect((await readUser(plane, nodeToken())).status).toBe(201);
  });

  test("accepts roles of several accounts, each from its own account's issuer only", async () => {
    const claims = buildAwsClaims({ roleArn: SECOND_NODE, audiences: [AUDIENCE] });
    await waitForStatus(plane, () => second.sign(claims), 201);
    expect((await readUser(plane, second.sign(claims))).username).toBe("serverless-ccm-node");
    expect(await readUser(plane, second.sign(claimsOf()))).toEqual({ status: 401 });
    expect(await readUser(plane, issuer.sign(claims))).toEqual({ status: 401 });
  });

  test("rejects what another issuer signs, in its own name and in AWS's", async () => {
    expect(await readUser(plane, other.sign(claimsOf()))).toEqual({ status: 401 });
    expect(await readUser(plane, other.sign({ ...claimsOf(), iss: URL }))).toEqual({ status: 401 });
  });

  test.each(IDENTITIES)(
    "gives the role of %s the RBAC rights of its user, and nothing else",
    async (identity) => {
      const token = issuer.sign(buildAwsClaims({ roleArn: ROLES[identity] ?? "", audiences: [AUDIENCE] }));
      for (const namespace of ["default", "kube-system"]) {
        const byRole = await rulesOf(token, namespace);
        expect(byRole).toEqual(await rulesOf(await tokenOf(identity), namespace));
        expect(byRole.length).toBeGreaterThan(0);
      }
    },
  );

  test("allows the node function's role to patch a node, and not to delete it", async () => {
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } };
    const path = "/api/v1/nodes/n1";
    const admin = await tokenOf("admin");
    expect(await send(admin, { method: "POST", path: "/api/v1/nodes", body: node })).toBe(201);
    const patch = [{ op: "add", path: "/metadata/labels", value: { a: "b" } }];
    const type = "application/json-patch+json";
    expect(await send(nodeToken(), { method: "PATCH", path, body: patch, contentType: type })).toBe(200);
    expect(await send(nodeToken(), { method: "DELETE", path })).toBe(403);
    expect(await send(nodeToken(), { method: "GET", path: "/api/v1/secrets" })).toBe(403);
  });

  test("accepts tokens with new keys after a rotation by the issuer", async () => {
    const before = nodeToken();
    issuer.rotateKeys();
    expect((await readUser(plane, nodeToken())).status).toBe(201);
    expect(await readUser(plane, before)).toEqual({ status: 401 });
  });

  test("reports its version, for which the file is printed", async () => {
    const printed = await printFile(
      ...[...flags, "--cluster-name", "tenant-a"],
      ...["--kubeconfig", await plane.kubeconfig("relay")],
    );
    expect(parse(printed)).toMatchObject({ apiVersion: "apiserver.config.k8s.io/v1" });
  });

  const tokenOf = async (user: keyof ControlPlaneUsers): Promise<string> =>
    (await readFile(plane.tokenFile(user), "utf8")).trim();

  // Each reads its file after about ten seconds.
  test("reads its file again: accepts a further audience as well, then that alone", async () => {
    const next = (): string => nodeToken({ aud: "next" });
    const wanted = [...flags, "--audience", "next", "--server-version", "1.36"];
    const merged = await printFile(...wanted, "--merge", file());
    await writeFile(file(), merged);
    await waitForStatus(plane, next, 201);
    expect((await readUser(plane, nodeToken())).status).toBe(201);
    expect((await readUser(plane, nodeToken({ aud: [AUDIENCE, "next"] }))).status).toBe(401);
    await writeFile(file(), await printFile(...wanted));
    await waitForStatus(plane, nodeToken, 401);
    expect((await readUser(plane, next())).status).toBe(201);
  });

  test("rejects users and groups of Kubernetes' own, even if a mapping was changed to produce them", async () => {
    const relayToken = (): string =>
      issuer.sign(buildAwsClaims({ roleArn: ROLES["relay"] ?? "", audiences: [AUDIENCE] }));
    const printed = await printFile(...flags, "--cluster-name", "tenant-a", "--server-version", "1.36");
    await writeFile(file(), printed.replace("'serverless-ccm-node'", "'system:admin'"));
    await waitForStatus(plane, relayToken, 201);
    expect(await readUser(plane, nodeToken())).toEqual({ status: 401 });
    await writeFile(file(), printed.replace("['serverless-ccm']", "['system:masters']"));
    await waitForStatus(plane, relayToken, 401);
  });

  async function send(token: string, request: Parameters<typeof sendWith>[2]): Promise<number> {
    return (await sendWith(plane, token, request)).status;
  }

  async function rulesOf(token: string, namespace: string): Promise<readonly unknown[]> {
    const { body } = await sendWith(plane, token, {
      method: "POST",
      path: "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
      body: { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace } },
      accept: "application/json",
    });
    const { resourceRules } = JSON.parse(body).status;
    return resourceRules.map((rule: unknown) => JSON.stringify(rule)).toSorted();
  }
});
