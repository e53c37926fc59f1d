import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type KubeApiserver, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { printFile, readUser, waitForStatus } from "#test/cli/infra/signing-in.ts";
import {
  type Claims,
  type LocalIssuer,
  type SigningOptions,
  startIssuer,
} from "#test/issuer/local-issuer.ts";
import { describeWithPart } from "#test/setup/parts.ts";

/** The default claims; a row contains the differences. */
const CLAIMS: Claims = {
  sub: "alice",
  aud: "kubernetes",
  email: "alice@example.com",
  groups: ["ops", "dev"],
  role: "one",
  team: "a",
  ok: "yes",
};

const TOKENS: readonly [what: string, difference: Claims, how?: SigningOptions][] = [
  ["of everybody", {}],
  ["for several audiences", { aud: ["kubernetes", "else"] }],
  ["for another audience", { aud: "else" }],
  ["with a group as a text", { groups: "ops" }],
  ["without groups", { groups: undefined }],
  ["with malformed groups", { groups: { ops: true } }],
  ["with groups of Kubernetes' own", { groups: ["system:masters"] }],
  ["of a user of Kubernetes' own", { sub: "system:admin", email: "system:admin" }],
  ["whose address is known to be good", { email_verified: true }],
  ["whose address is not known to be good", { email_verified: false }],
  ["whose address may be good", { email_verified: "true" }],
  ["without an address", { email: undefined }],
  ["without a subject", { sub: undefined }],
  ["of another team", { team: "b" }],
  ["of a team that is a number", { team: 1 }],
  ["of no team", { team: undefined }],
  ["in which a yes is a truth", { ok: true }],
  ["that is not valid any more", { exp: Math.floor(Date.now() / 1_000) - 60 }],
  ["of another issuer", { iss: "https://idp.example.com" }],
  ["signed with another key", {}, { forged: true }],
  ["without a signature", {}, { algorithm: "none" }],
];

const FLAGS: readonly [what: string, flags: readonly string[]][] = [
  ["issuer and client alone", []],
  [
    "an address as the name, groups with a prefix and a claim that is required",
    [
      "--oidc-username-claim=email",
      "--oidc-groups-claim=groups",
      "--oidc-groups-prefix=idp:",
      "--oidc-required-claim=team = a",
    ],
  ],
  [
    "no prefix, a group as a claim of one text and several claims",
    [
      "--oidc-username-prefix=-",
      "--oidc-groups-claim=role",
      "--oidc-required-claim=team=b",
      "--oidc-required-claim=team=a",
      "--oidc-required-claim=role=one",
      "--oidc-required-claim=ok=yes",
    ],
  ],
  ["a prefix", ["--oidc-username-prefix=idp:", "--oidc-groups-prefix=unused:"]],
];

describeWithPart(
  "control-plane",
  "two API servers, of flags and of the file that they are translated to",
  (binaries) => {
    describe.each(FLAGS)("by %s", (_, more) => {
      let folder: string;
      let issuer: LocalIssuer;
      let byFlags: KubeApiserver;
      let byFile: KubeApiserver;

      beforeAll(async () => {
        folder = await mkdtemp(join(tmpdir(), "oidc-flags-"));
        issuer = await startIssuer();
        const [authority, file] = [join(folder, "issuer.pem"), join(folder, "authentication.yaml")];
        await writeFile(authority, issuer.certificateAuthority);
        const flags = [
          `--oidc-issuer-url=${issuer.url}`,
          "--oidc-client-id=kubernetes",
          `--oidc-ca-file=${authority}`,
          ...more,
        ];
        await writeFile(file, await printFile(...flags, "--server-version", "1.36"));
        const start = (name: string, given: readonly string[]): Promise<KubeApiserver> =>
          startKubeApiserver({ folder: join(folder, name), binaries, flags: given, manifests: [] });
        [byFlags, byFile] = await Promise.all([
          start("flags", flags),
          start("file", [`--authentication-config=${file}`]),
        ]);
        for (const plane of [byFlags, byFile]) await waitForStatus(plane, () => issuer.sign(CLAIMS), 201);
      });
      afterAll(async () => {
        await Promise.all([byFlags?.close(), byFile?.close(), issuer?.close()]);
        await rm(folder, { recursive: true, force: true });
      });

      test("accept the same tokens, for the same users", async () => {
        const taken = async (plane: KubeApiserver) => {
          const rows: Record<string, unknown> = {};
          for (const [what, difference, how] of TOKENS)
            rows[what] = await readUser(plane, issuer.sign({ ...CLAIMS, ...difference }, how));
          return rows;
        };
        const rows = await taken(byFile);
        expect(rows).toEqual(await taken(byFlags));
        expect(rows).toMatchObject({
          "of everybody": { status: 201 },
          "for another audience": { status: 401 },
          "without a signature": { status: 401 },
        });
      });

      test("differ only in algorithms, which a file cannot set", async () => {
        const token = issuer.sign(CLAIMS, { algorithm: "ES384" });
        expect((await readUser(byFlags, token)).status).toBe(401);
        expect((await readUser(byFile, token)).status).toBe(201);
      });
    });

    test("a file and flags together are rejected", async () => {
      const folder = await mkdtemp(join(tmpdir(), "oidc-flags-"));
      const flags = ["--oidc-issuer-url=https://idp.example.com", "--oidc-client-id=kubernetes"];
      const file = join(folder, "authentication.yaml");
      await writeFile(file, await printFile(...flags, "--server-version", "1.36"));
      const started = startKubeApiserver({
        folder: join(folder, "plane"),
        binaries,
        flags: [...flags, `--authentication-config=${file}`],
      });
      await expect(started).rejects.toThrow("mutually exclusive");
      await rm(folder, { recursive: true, force: true });
    });
  },
);
