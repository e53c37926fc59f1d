import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { formatUser, IDENTITIES, type Identity } from "#core/identities.ts";
import { createCertificateAuthority, type KeyPair } from "#emulators/harness/certificates.ts";
import {
  type ControlPlaneBinaries,
  type KubeApiserver,
  startKubeApiserver,
} from "#emulators/harness/kube-apiserver.ts";
import { connect } from "#kube/client/connect.ts";
import { createEksToken } from "#platforms/aws/sign-in/eks-token.ts";
import { readWebIdentityToken } from "#platforms/aws/sign-in/web-identity-token.ts";
import { getConnectOptions } from "#test/access.ts";
import { ask, askForJson } from "#test/ask.ts";
import { printFile, readUser, waitForStatus } from "#test/cli/infra/signing-in.ts";
import { type LocalIssuer, startIssuer } from "#test/issuer/local-issuer.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { type EksWebhook, startEksWebhook } from "#test/sts/eks-webhook.ts";
import { type FakeSts, OWN_KEYS, startFakeSts } from "#test/sts/fake-sts.ts";

/**
 * Both cells are stages of one account, whose one issuer signs for the roles of both. Cells cannot be closer.
 */
const ACCOUNT = "123456789012";
const CELLS = ["blue", "green"] as const;
type Cell = (typeof CELLS)[number];
const roleNameOf = (cell: Cell, identity: Identity): string => `serverless-ccm-${cell}-${identity}`;
const roleOf = (cell: Cell, identity: Identity): string =>
  `arn:aws:iam::${ACCOUNT}:role/${roleNameOf(cell, identity)}`;
const audienceOf = (cell: Cell): string => `serverless-ccm:tenant-of-${cell}`;

/** The stolen credentials of a cell: all sign-ins of its relay and functions. */
interface Stolen {
  readonly what: string;
  readonly token: (of: Cell, identity: Identity) => Promise<string>;
}

/** The API server of a cell's cluster, which accepts each sign-in of that cell. */
interface CellPlane {
  readonly plane: KubeApiserver;
  readonly eks: EksWebhook;
  readonly pairOf: (identity: Identity) => Promise<KeyPair>;
}

describeWithPart("control-plane", "what was stolen of one cell", (binaries) => {
  let folder: string;
  let issuer: LocalIssuer;
  let sts: FakeSts;
  const planes = new Map<Cell, CellPlane>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "cells-"));
    issuer = await startIssuer();
    sts = await startFakeSts(issuer);
    vi.stubEnv("AWS_ACCESS_KEY_ID", OWN_KEYS.accessKeyId);
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", OWN_KEYS.secretAccessKey);
    vi.stubEnv("AWS_REGION", "eu-central-1");
    vi.stubEnv("AWS_ENDPOINT_URL_STS", sts.url);
    for (const cell of CELLS) planes.set(cell, await startPlane(cell, binaries, { folder, issuer, sts }));
    for (const cell of CELLS) {
      const token = await fromAws(cell, "node", audienceOf(cell));
      await waitForStatus(planeOf(cell), () => token, 201);
    }
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    for (const { plane, eks } of planes.values()) {
      await plane.close();
      await eks.close();
    }
    await sts?.close();
    await issuer?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const STOLEN: readonly Stolen[] = [
    { what: "a token of AWS's issuer", token: (of, identity) => fromAws(of, identity, audienceOf(of)) },
    { what: "a token of EKS", token: (of, identity) => forEks(of, identity, of) },
    { what: "a token of a ServiceAccount", token: (of, identity) => minted(of, identity) },
  ];
  const ROWS = STOLEN.flatMap(({ what, token }) =>
    IDENTITIES.flatMap((identity) => CELLS.map((of) => ({ what, token, identity, of }))),
  );

  test.each(ROWS)("$what of $identity in $of is accepted only there", async ({ token, identity, of }) => {
    const stolen = await token(of, identity);
    const { status, username } = await readUser(planeOf(of), stolen);
    expect([status, username?.split(":").at(-1)]).toEqual([201, formatUser(identity)]);
    expect(await readUser(planeOf(otherThan(of)), stolen)).toEqual({ status: 401 });
  });

  test.each(IDENTITIES)("the role of %s gains nothing with a token for the other cell", async (identity) => {
    // The holder of a role may request a token for another audience or cluster, if its policy allows it.
    const there = planeOf("green");
    expect(await readUser(there, await fromAws("blue", identity, audienceOf("green")))).toEqual({
      status: 401,
    });
    expect(await readUser(there, await forEks("blue", identity, "green"))).toEqual({ status: 401 });
    expect(planes.get("green")?.eks.reviews().at(-1)).toBe("no access entry");
  });

  test.each(IDENTITIES)("a client certificate of %s is accepted only in its cell", async (identity) => {
    const pair = await planes.get("blue")?.pairOf(identity);
    expect(await statusWith("blue", pair)).not.toBe(401);
    expect(await statusWith("green", pair)).toBe(401);
  });

  function planeOf(cell: Cell): KubeApiserver {
    const found = planes.get(cell);
    if (found === undefined) throw new Error(`there is no API server of ${cell}`);
    return found.plane;
  }

  async function fromAws(cell: Cell, identity: Identity, audience: string): Promise<string> {
    const caller = { clusterName: cell, region: "eu-central-1", roleArn: roleOf(cell, identity) };
    const asked = { audience, signingAlgorithm: "RS256", durationSeconds: 300 } as const;
    return (await readWebIdentityToken({ ...caller, ...asked })).value;
  }

  async function forEks(cell: Cell, identity: Identity, cluster: Cell): Promise<string> {
    const caller = { clusterName: cell, region: "eu-central-1", roleArn: roleOf(cell, identity) };
    return (await createEksToken({ ...caller, eksCluster: `eks-of-${cluster}` })).value;
  }

  async function minted(cell: Cell, identity: Identity): Promise<string> {
    const admin = connect(await getConnectOptions(planeOf(cell), "admin"));
    try {
      const accounts = "/api/v1/namespaces/kube-system/serviceaccounts";
      const path = `${accounts}/${formatUser(identity)}/token`;
      const answer = await askForJson(admin, { method: "POST", path, body: { spec: { audiences: [] } } });
      return (answer as { readonly status: { readonly token: string } }).status.token;
    } finally {
      await admin.close();
    }
  }

  async function statusWith(cell: Cell, clientCertificate: KeyPair | undefined): Promise<number> {
    const { server, certificateAuthority } = await getConnectOptions(planeOf(cell), "admin");
    const transport = connect({ server, tls: async () => ({ certificateAuthority, clientCertificate }) });
    try {
      return (await transport.send({ method: "GET", path: "/api/v1/nodes/none" })).status;
    } finally {
      await transport.close();
    }
  }
});

async function startPlane(
  cell: Cell,
  binaries: ControlPlaneBinaries,
  { folder, issuer, sts }: { readonly folder: string; readonly issuer: LocalIssuer; readonly sts: FakeSts },
): Promise<CellPlane> {
  const files = {
    authority: join(folder, "issuer.pem"),
    authentication: join(folder, `${cell}.yaml`),
    clients: join(folder, `${cell}-clients.crt`),
  };
  await writeFile(files.authority, issuer.certificateAuthority);
  const printed = await printFile(
    ...["--issuer", issuer.issuer, "--certificate-authority", files.authority],
    ...IDENTITIES.flatMap((identity) => ["--role", `${identity}=${roleOf(cell, identity)}`]),
    ...["--cluster-name", `tenant-of-${cell}`, "--server-version", "1.34"],
  );
  await writeFile(files.authentication, printed);
  const clients = await createCertificateAuthority({ name: "clients" });
  await writeFile(files.clients, clients.certificate);
  const entries = IDENTITIES.map((identity) => ({
    roleName: roleNameOf(cell, identity),
    username: formatUser(identity),
    groups: ["serverless-ccm"],
  }));
  const webhookFolder = await mkdtemp(join(folder, `${cell}-eks-`));
  const eks = await startEksWebhook({ folder: webhookFolder, clusterName: `eks-of-${cell}`, sts, entries });
  const plane = await startKubeApiserver({
    folder: join(folder, cell),
    binaries,
    flags: [
      `--authentication-config=${files.authentication}`,
      `--client-ca-file=${files.clients}`,
      `--authentication-token-webhook-config-file=${eks.configFile}`,
      "--authentication-token-webhook-version=v1",
      "--authentication-token-webhook-cache-ttl=1ms",
    ],
  });
  const admin = connect(await getConnectOptions(plane, "admin"));
  for (const identity of IDENTITIES)
    await ask(admin, {
      method: "POST",
      path: "/api/v1/namespaces/kube-system/serviceaccounts",
      body: { metadata: { name: formatUser(identity) } },
    });
  await admin.close();
  return {
    plane,
    eks,
    pairOf: (identity) => clients.issueClient({ name: formatUser(identity), groups: ["serverless-ccm"] }),
  };
}

function otherThan(cell: Cell): Cell {
  return cell === "blue" ? "green" : "blue";
}
