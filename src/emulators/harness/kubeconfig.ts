import { writeFile } from "node:fs/promises";

/** A user of one cluster, as kubectl reads it. */
export interface KubeconfigEntry {
  readonly cluster: string;
  readonly user: string;
  /** `https://…` */
  readonly server: string;
  readonly certificateAuthorityFile: string;
  readonly tokenFile: string;
}

/**
 * Writes a kubeconfig (JSON, which is YAML) of mode 0600; it names the files with secrets and contains none.
 */
export async function writeKubeconfig(file: string, entry: KubeconfigEntry): Promise<void> {
  const { cluster, user, server, certificateAuthorityFile, tokenFile } = entry;
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: cluster, cluster: { server, "certificate-authority": certificateAuthorityFile } }],
    users: [{ name: user, user: { tokenFile } }],
    contexts: [{ name: cluster, context: { cluster, user } }],
    "current-context": cluster,
  };
  await writeFile(file, `${JSON.stringify(kubeconfig, undefined, 2)}\n`, { mode: 0o600 });
}
