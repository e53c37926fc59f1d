import * as z from "zod";
import { isTooMuchYaml, parseYaml } from "#config/yaml-text.ts";

/** What a kubeconfig in a Secret comes to; it holds an administrator's credentials, and is never kept longer than a request takes. */
export interface WrittenKubeconfig {
  /** Base URL, https. */
  readonly server: string;
  /** PEM in base64. */
  readonly certificateAuthorityData: string | undefined;
  /** The name that the server's certificate is for, where it is not that of its address. */
  readonly tlsServerName: string | undefined;
  readonly credentials: AdministratorCredentials;
}

export type AdministratorCredentials =
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "client-certificate"; readonly certificate: string; readonly key: string };

/** A kubeconfig, or why it is not used; the words quote nothing of it. */
export type ParsedKubeconfig =
  | { readonly kind: "kubeconfig"; readonly kubeconfig: WrittenKubeconfig }
  | { readonly kind: "fault"; readonly message: string };

const text = z
  .string()
  .nullish()
  .transform((value) => value || undefined);
const named = <Value extends z.ZodType>(key: string, value: Value) =>
  z.array(z.looseObject({ name: z.string(), [key]: value })).nullish();

const Kubeconfig = z.looseObject({
  "current-context": text,
  contexts: named("context", z.looseObject({ cluster: text, user: text })),
  clusters: named(
    "cluster",
    z.looseObject({
      server: text,
      "certificate-authority-data": text,
      "certificate-authority": text,
      "insecure-skip-tls-verify": z.boolean().nullish(),
      "proxy-url": text,
      "tls-server-name": text,
    }),
  ),
  users: named(
    "user",
    z.looseObject({
      token: text,
      tokenFile: text,
      "client-certificate-data": text,
      "client-key-data": text,
      "client-certificate": text,
      "client-key": text,
      exec: z.unknown().optional(),
      "auth-provider": z.unknown().optional(),
      as: text,
      username: text,
    }),
  ),
});

/** A kubeconfig has some KB. */
const MAX_CHARACTERS = 512 * 1024;

/**
 * Reads a kubeconfig that others wrote: its current context, with the credentials in it. Nothing of it is ever run, no file that it
 * names is read, and a server that is not verified is none.
 */
export function parseKubeconfig(written: string): ParsedKubeconfig {
  if (written.length > MAX_CHARACTERS || isTooMuchYaml(written))
    return fault("is larger than any kubeconfig");
  const yaml = parseYaml(written);
  const parsed = yaml.kind === "value" ? Kubeconfig.safeParse(yaml.value) : undefined;
  if (parsed?.success !== true) return fault("is no kubeconfig: clusters, users and contexts are expected");
  const { contexts, clusters, users, ...config } = parsed.data;
  const context = valueNamed(contexts, "context", config["current-context"]);
  const cluster = valueNamed(clusters, "cluster", context?.["cluster"]);
  const user = valueNamed(users, "user", context?.["user"]);
  if (cluster === undefined || user === undefined)
    return fault("has no current context that names a cluster and a user of it");
  const refused = [...keysIn(cluster, REFUSED_OF_CLUSTER), ...keysIn(user, REFUSED_OF_USER)];
  if (refused.length > 0)
    return fault(
      `has ${refused.join(", ")}, which ${refused.length === 1 ? "is" : "are"} refused: ${INSTEAD}`,
    );
  const server = cluster["server"];
  if (typeof server !== "string" || !URL.canParse(server) || !server.startsWith("https://"))
    return fault("has no https:// server");
  const credentials = credentialsOf(user);
  if (credentials === undefined)
    return fault("has neither token nor client-certificate-data and client-key-data");
  return {
    kind: "kubeconfig",
    kubeconfig: {
      server: server.replace(/(?<!\/)\/+$/, ""),
      certificateAuthorityData: stringOf(cluster["certificate-authority-data"]),
      tlsServerName: stringOf(cluster["tls-server-name"]),
      credentials,
    },
  };
}

const INSTEAD =
  "put authority and credentials into it, and what runs programs, reads files, goes through others or does not verify out of it";
const REFUSED_OF_CLUSTER = ["certificate-authority", "insecure-skip-tls-verify", "proxy-url"];
const REFUSED_OF_USER = [
  "exec",
  "auth-provider",
  "tokenFile",
  "client-certificate",
  "client-key",
  "as",
  "username",
];

type Loose = Readonly<Record<string, unknown>>;

function valueNamed(
  list: readonly Loose[] | null | undefined,
  key: string,
  name: unknown,
): Loose | undefined {
  const found = list?.find((each) => each["name"] === name)?.[key];
  return typeof found === "object" && found !== null ? (found as Loose) : undefined;
}

function keysIn(value: Loose, keys: readonly string[]): string[] {
  return keys.filter((key) => value[key] !== undefined && value[key] !== null && value[key] !== false);
}

function credentialsOf(user: Loose): AdministratorCredentials | undefined {
  const token = stringOf(user["token"]);
  if (token !== undefined) return { kind: "token", token };
  const [certificate, key] = [user["client-certificate-data"], user["client-key-data"]].map(stringOf);
  if (certificate === undefined || key === undefined) return undefined;
  return { kind: "client-certificate", certificate: pemOf(certificate), key: pemOf(key) };
}

function stringOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function pemOf(data: string): string {
  return Buffer.from(data, "base64").toString("utf8");
}

function fault(message: string): ParsedKubeconfig {
  return { kind: "fault", message };
}
