import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FUNCTION_IDENTITIES } from "#core/identities.ts";
import { type ApiServerProxy, startApiServerProxy } from "#emulators/harness/api-server-proxy.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import type { PreparedOptions } from "#test/faults/row.ts";
import { readText } from "#test/faults/stage.ts";
import type { World } from "#test/faults/world.ts";

/** A proxy before the API server, and the files by which relay and functions of a row know it. */
export interface ProxiedOptions extends PreparedOptions {
  readonly proxy: ApiServerProxy;
  /** Changes the authority, certificate and tokens from now on; earlier ones are rejected. */
  rotate(what: "certificate" | "authority" | "tokens"): Promise<void>;
}

const ROLES = ["relay", ...FUNCTION_IDENTITIES] as const;

let made = 0;

/** Starts the proxy, for a row's options. */
export async function startProxiedOptions({ folder, plane }: World): Promise<ProxiedOptions> {
  made += 1;
  const file = (name: string): string => join(folder, `proxied-${made}-${name}`);
  let authority = await createCertificateAuthority();
  await writeFile(file("ca.crt"), authority.certificate);
  const { server, certificateAuthorityFile } = plane;
  const proxy = await startApiServerProxy({
    server,
    certificateAuthorityFile,
    certificate: await authority.issueServer(),
  });
  let rotations = 0;
  const setTokens = async (): Promise<void> => {
    rotations += 1;
    const known = new Map<string, string>();
    for (const role of ROLES) {
      const token = `${role}-token-${rotations}`;
      known.set(`Bearer ${token}`, `Bearer ${await readText(plane.tokenFile(role))}`);
      await writeFile(file(role), token, { mode: 0o600 });
    }
    proxy.setCredentials(known);
  };
  await setTokens();
  return {
    proxy,
    rotate: async (what) => {
      if (what === "tokens") return setTokens();
      if (what === "authority") {
        authority = await createCertificateAuthority();
        await writeFile(file("ca.crt"), authority.certificate);
      }
      proxy.setCertificate(await authority.issueServer());
      proxy.dropConnections();
    },
    entry: {
      server: proxy.url,
      certificateAuthorityFile: file("ca.crt"),
      signIn: Object.fromEntries(ROLES.map((role) => [role, { kind: "token-file", file: file(role) }])),
    },
    close: () => proxy.close(),
  };
}
