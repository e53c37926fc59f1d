import { createPrivateKey, X509Certificate } from "node:crypto";
import type { Cluster, SignIn } from "#config/cluster.ts";
import { fileTrouble, readSmallFile } from "#config/read-small-file.ts";
import { FUNCTION_IDENTITIES } from "#core/identities.ts";
import type { ReadTls } from "#kube/client/connect.ts";
import type { ClientCertificate } from "#kube/client/connection.ts";
import { systemCode } from "#kube/client/errors.ts";
import type { Authorization } from "#kube/client/transport.ts";

/** Who signs in to a cluster: the relay, one of the functions, or `functions`: a function that need not say which. */
export type SignInRole = keyof Cluster["signIn"];

/** The key of an entry's `signIn` by which the role signs in: its own, or that of all functions; undefined where there is none. */
export function signInKeyOf({ signIn }: Pick<Cluster, "signIn">, role: SignInRole): SignInRole | undefined {
  const keys: readonly SignInRole[] = role === "relay" ? ["relay"] : [role, "functions"];
  return keys.find((key) => signIn[key] !== undefined);
}

/** As whom a function of this name signs in; as one of all functions where the name is not among ours. */
export function signInRoleOf(functionName: string): SignInRole {
  return FUNCTION_IDENTITIES.find((name) => name === functionName) ?? "functions";
}

/** What `connect` needs beside the server. */
export interface SignedIn {
  /** Reads authority and client certificate anew for each connection, as files are rotated. */
  readonly tls: ReadTls;
  readonly authorization?: Authorization;
}

/** Why an identity cannot be had; stable. */
export type SignInCode =
  | "NotConfigured"
  | "NotSupported"
  | "FileUnreadable"
  | "FileTooLarge"
  | "FileEmpty"
  | "FileInvalid";

/** An identity cannot be had. Names the file and what to do, never anything that stands in the file. */
export class SignInError extends Error {
  override readonly name = "SignInError";
  readonly code: SignInCode;
  readonly cluster: string;
  readonly role: SignInRole;
  readonly file: string | undefined;

  constructor(code: SignInCode, about: SignInSubject, what: string, file?: string, cause?: unknown) {
    super(`cluster ${about.cluster}, sign-in of the ${WHO[about.role]}: ${what}`, { cause });
    this.code = code;
    this.cluster = about.cluster;
    this.role = about.role;
    this.file = file;
  }
}

/**
 * Gets what the role signs in with from the files that the cluster's entry names, and reads each of them once, so that
 * what is missing is known at the start. Rejects with `SignInError`.
 */
export async function signIn(
  cluster: Cluster,
  role: SignInRole,
  options: { readonly now?: () => number } = {},
): Promise<SignedIn> {
  const key = signInKeyOf(cluster, role);
  const about = { cluster: cluster.name, role, key: key ?? role };
  const how = key === undefined ? undefined : cluster.signIn[key];
  if (how === undefined)
    throw new SignInError(
      "NotConfigured",
      about,
      `there is none; add ${keysOf(role)} to the cluster's entry`,
    );
  const readAuthority = authorityOf(cluster, about);
  const { readPair, authorization } = identity(how, about, options.now ?? Date.now);
  const tls: ReadTls = async ({ fresh = false } = {}) => ({
    certificateAuthority: await readAuthority?.(fresh),
    clientCertificate: await readPair?.(fresh),
  });
  await tls();
  await authorization?.();
  return { tls, ...(authorization === undefined ? {} : { authorization }) };
}

/** How the authority of a cluster's entry is read for each connection; undefined where it names none. Rejects with `SignInError`. */
export async function readAuthority(cluster: Cluster, role: SignInRole): Promise<ReadTls | undefined> {
  const read = authorityOf(cluster, { cluster: cluster.name, role, key: role });
  if (read === undefined) return undefined;
  await read(false);
  return async ({ fresh = false } = {}) => ({ certificateAuthority: await read(fresh) });
}

function authorityOf(
  { certificateAuthorityFile }: Cluster,
  about: SignInSubject,
): ((fresh: boolean) => Promise<string>) | undefined {
  if (certificateAuthorityFile === undefined) return undefined;
  return orLast(() => readPem(certificateAuthorityFile, "CERTIFICATE", about));
}

interface SignInSubject {
  readonly cluster: string;
  readonly role: SignInRole;
  readonly key: SignInRole;
}

/** For people, behind "the". */
const WHO: Readonly<Record<SignInRole, string>> = {
  relay: "relay",
  functions: "functions",
  node: "function node",
  "node-lifecycle": "function node-lifecycle",
  csr: "function csr",
  service: "function service",
  route: "function route",
  tagging: "function tagging",
  sweep: "function sweep",
  "ec2-events": "function ec2-events",
};

function keysOf(role: SignInRole): string {
  return role === "relay" || role === "functions" ? `signIn.${role}` : `signIn.${role} or signIn.functions`;
}

const MAX_TOKEN_BYTES = 64 * 1024;
const MAX_PEM_BYTES = 1024 * 1024;
/** A token file is read again so often; kubelets renew theirs long before it ends. */
const TOKEN_READ_INTERVAL_MS = 10_000;

interface Identity {
  readonly authorization?: Authorization;
  readonly readPair?: (fresh: boolean) => Promise<ClientCertificate>;
}

function identity(how: SignIn, about: SignInSubject, now: () => number): Identity {
  switch (how.kind) {
    case "token-file":
      return { authorization: tokenFile(how.file, about, now) };
    case "client-certificate":
      return { readPair: orLast(() => readPair(how, about)) };
    case "kubeconfig":
      throw new SignInError(
        "NotSupported",
        about,
        `kubeconfig files are for the command line; use token-file or client-certificate in signIn.${about.key}`,
        how.file,
      );
  }
}

/** Reads anew each time; in the middle of a rotation the last one still holds, until the server has refused it (`fresh`). */
function orLast<Value>(read: () => Promise<Value>): (fresh: boolean) => Promise<Value> {
  let last: { readonly value: Value } | undefined;
  return async (fresh) => {
    try {
      last = { value: await read() };
      return last.value;
    } catch (error) {
      if (last === undefined || fresh) throw error;
      return last.value;
    }
  };
}

/** A token that is read again now and then, and at once when the server refused it; one read serves all who ask. */
function tokenFile(file: string, about: SignInSubject, now: () => number): Authorization {
  let known: { readonly header: string; readonly readAt: number } | undefined;
  let reading: Promise<string> | undefined;

  const read = async (): Promise<string> => {
    try {
      const header = `Bearer ${await readToken(file, about)}`;
      known = { header, readAt: now() };
      return header;
    } finally {
      reading = undefined;
    }
  };

  return async (_signal, options) => {
    const fresh = options?.fresh === true;
    if (!fresh && known !== undefined && now() - known.readAt < TOKEN_READ_INTERVAL_MS) return known.header;
    reading ??= read();
    try {
      return await reading;
    } catch (error) {
      // In the middle of a rotation the last token still holds; it is the server that says when it does not.
      if (known === undefined || fresh) throw error;
      return known.header;
    }
  };
}

async function readToken(file: string, about: SignInSubject): Promise<string> {
  const token = (await readFile(file, MAX_TOKEN_BYTES, about)).trim();
  if (token === "")
    throw new SignInError("FileEmpty", about, `${file} is empty; put the bearer token into it`, file);
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new SignInError(
    "FileInvalid",
    about,
    `${file} is not one bearer token; it has spaces or lines`,
    file,
  );
}

type PairFiles = Extract<SignIn, { readonly kind: "client-certificate" }>;

async function readPair(
  { certificateFile, keyFile }: PairFiles,
  about: SignInSubject,
): Promise<ClientCertificate> {
  const certificate = await readPem(certificateFile, "CERTIFICATE", about);
  const key = await readPem(keyFile, "PRIVATE KEY", about);
  if (!isPair(certificate, key)) {
    const what = `${certificateFile} and ${keyFile} are no certificate and its key; put both of one pair there`;
    throw new SignInError("FileInvalid", about, what, certificateFile);
  }
  return { certificate, key };
}

function isPair(certificate: string, key: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

async function readPem(file: string, label: string, about: SignInSubject): Promise<string> {
  const text = await readFile(file, MAX_PEM_BYTES, about);
  if (text.trim() === "")
    throw new SignInError("FileEmpty", about, `${file} is empty; put PEM into it`, file);
  if (text.includes("-----BEGIN ") && text.includes(`${label}-----`)) return text;
  throw new SignInError("FileInvalid", about, `${file} is not PEM with a ${label}`, file);
}

async function readFile(file: string, maxBytes: number, about: SignInSubject): Promise<string> {
  try {
    return await readSmallFile(file, maxBytes);
  } catch (error) {
    if (systemCode(error) === "EFBIG")
      throw new SignInError("FileTooLarge", about, `${file} is larger than ${maxBytes} bytes`, file);
    const what = `${file} ${fileTrouble(error)}; see that it is there and that this process may read it`;
    throw new SignInError("FileUnreadable", about, what, file, error);
  }
}
