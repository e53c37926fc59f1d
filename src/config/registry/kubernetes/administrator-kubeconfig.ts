import * as z from "zod";
import { isTooMuchYaml, parseYaml } from "#config/yaml-text.ts";

/**
 * The usable part of a kubeconfig in a Secret. It holds administrator credentials and is never kept longer
 * than one request.
 */
export interface AdministratorKubeconfig {
  /** Base URL, https. */
  readonly server: string;
  /** PEM in base64. */
  readonly certificateAuthorityData: string | undefined;
  /** The name in the server's certificate, if it differs from the address. */
  readonly tlsServerName: string | undefined;
  readonly credentials: AdministratorCredentials;
}

export type AdministratorCredentials =
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "client-certificate"; readonly certificate: string; readonly key: string };

/** A kubeconfig, or why it is rejected; the message quotes nothing of it. */
export type ParsedKubeconfig =
  | { readonly kind: "kubeconfig"; readonly kubeconfig: AdministratorKubeconfig }
  | { readonly kind: "fault"; readonly message: string };

const OptionalText = z
  .string()
  .nullish()
  .transform((value) => value || undefined);
const buildNamedList = <Value extends z.ZodType>(key: string, value: Value) =>
  z.array(z.looseObject({ name: z.string(), [key]: value })).nullish();

const Kubeconfig = z.looseObject({
  "current-context": OptionalText,
  contexts: buildNamedList("context", z.looseObject({ cluster: OptionalText, user: OptionalText })),
  clusters: buildNamedList(
    "cluster",
    z.looseObject({
      server: OptionalText,
      "certificate-authority-data": OptionalText,
      "certificate-authority": OptionalText,
      "insecure-skip-tls-verify": z.boolean().nullish(),
      "proxy-url": OptionalText,
      "tls-server-name": OptionalText,
    }),
  ),
  users: buildNamedList(
    "user",
    z.looseObject({
      token: OptionalText,
      tokenFile: OptionalText,
      "client-certificate-data": OptionalText,
      "client-key-data": OptionalText,
      "client-certificate": OptionalText,
      "client-key": OptionalText,
      exec: z.unknown().optional(),
      "auth-provider": z.unknown().optional(),
      as: OptionalText,
      username: OptionalText,
    }),
  ),
});

/** A kubeconfig has a few KB. */
const MAX_CHARACTERS = 512 * 1024;

/**
 * Parses an untrusted kubeconfig: its current context with the inline credentials. It never runs a command or
 * reads a file that the kubeconfig names, and rejects a server without TLS verification.
 */
export function parseKubeconfig(written: string): ParsedKubeconfig {
  if (written.length > MAX_CHARACTERS || isTooMuchYaml(written))
    return createKubeconfigError("is larger than any kubeconfig");
  const yaml = parseYaml(written);
  const parsed = yaml.kind === "value" ? Kubeconfig.safeParse(yaml.value) : undefined;
  if (parsed?.success !== true)
    return createKubeconfigError("is not a kubeconfig: clusters, users and contexts are expected");
  const { contexts, clusters, users, ...config } = parsed.data;
  const context = findNamed(contexts, "context", config["current-context"]);
  const cluster = findNamed(clusters, "cluster", context?.["cluster"]);
  const user = findNamed(users, "user", context?.["user"]);
  if (cluster === undefined || user === undefined)
    return createKubeconfigError("has no current context that names a cluster and a user of it");
  const refused = [
    ...listPresentKeys(cluster, REFUSED_OF_CLUSTER),
    ...listPresentKeys(user, REFUSED_OF_USER),
  ];
  if (refused.length > 0)
    return createKubeconfigError(
      `has ${refused.join(", ")}, which ${refused.length === 1 ? "is" : "are"} refused: ${INSTEAD}`,
    );
  const server = cluster["server"];
  if (typeof server !== "string" || !URL.canParse(server) || !server.startsWith("https://"))
    return createKubeconfigError("has no https:// server");
  const credentials = parseCredentials(user);
  if (credentials === undefined)
    return createKubeconfigError("has neither token nor client-certificate-data and client-key-data");
  return {
    kind: "kubeconfig",
    kubeconfig: {
      server: server.replace(/(?<!\/)\/+$/, ""),
      certificateAuthorityData: readNonEmptyString(cluster["certificate-authority-data"]),
      tlsServerName: readNonEmptyString(cluster["tls-server-name"]),
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

function findNamed(list: readonly Loose[] | null | undefined, key: string, name: unknown): Loose | undefined {
  const found = list?.find((each) => each["name"] === name)?.[key];
  return typeof found === "object" && found !== null ? (found as Loose) : undefined;
}

function listPresentKeys(value: Loose, keys: readonly string[]): string[] {
  return keys.filter((key) => value[key] !== undefined && value[key] !== null && value[key] !== false);
}

function parseCredentials(user: Loose): AdministratorCredentials | undefined {
  const token = readNonEmptyString(user["token"]);
  if (token !== undefined) return { kind: "token", token };
  const [certificate, key] = [user["client-certificate-data"], user["client-key-data"]].map(
    readNonEmptyString,
  );
  if (certificate === undefined || key === undefined) return undefined;
  return { kind: "client-certificate", certificate: decodePem(certificate), key: decodePem(key) };
}

function readNonEmptyString(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function decodePem(data: string): string {
  return Buffer.from(data, "base64").toString("utf8");
}

function createKubeconfigError(message: string): ParsedKubeconfig {
  return { kind: "fault", message };
}
