/** Why an API server gave no answer; stable codes. */
export type UnreachableCode =
  | "ConnectionRefused"
  | "UnknownHost"
  | "AddressRefused"
  | "NotTrusted"
  | "WrongName"
  | "NotHttp2"
  | "ConnectFailed"
  | "ConnectTimedOut"
  | "ConnectionLost"
  | "TimedOut"
  | "Aborted"
  | "AnswerTooLarge"
  | "QueueFull"
  | "CredentialUnavailable"
  | "Closed";

/** What an oversized answer has too much of. */
export type Excess = "bytes" | "values" | "pieces";

/** The attempted request, its server and the reason of the failure. */
export interface UnreachableFacts {
  readonly code: UnreachableCode;
  /** Base URL of the API server. */
  readonly server: string;
  /** `METHOD path` without the query, or `connect`. */
  readonly attempt: string;
  /** The system's or the library's own code, such as `ECONNREFUSED`. */
  readonly detail?: string | undefined;
  /** Set if the code is `AnswerTooLarge`. */
  readonly excess?: Excess | undefined;
  readonly cause?: unknown;
}

/** No answer came from an API server. It carries facts but never a header, so it cannot hold a credential. */
export class ApiUnreachable extends Error {
  override readonly name = "ApiUnreachable";
  readonly code: UnreachableCode;
  readonly server: string;
  readonly excess: Excess | undefined;

  constructor(facts: UnreachableFacts) {
    const detail = facts.detail === undefined ? "" : ` (${facts.detail})`;
    super(`${facts.attempt} at ${facts.server}: ${describeUnreachable(facts)}${detail}`, {
      cause: facts.cause,
    });
    this.code = facts.code;
    this.server = facts.server;
    this.excess = facts.excess;
  }
}

function describeUnreachable({ code, excess, cause }: UnreachableFacts): string {
  // Its message names the credential and the remedy, and quotes nothing of the credential.
  if (cause instanceof Error && cause.name === "SignInError") return cause.message;
  return excess === undefined ? WORDS[code] : EXCESS_WORDS[excess];
}

const WORDS: Readonly<Record<UnreachableCode, string>> = {
  ConnectionRefused: "connection refused; see whether the API server runs and listens there",
  UnknownHost: "the host name cannot be resolved; see the name and the DNS",
  AddressRefused: "the API server is not connected to; see its address and --allowed-networks",
  NotTrusted: "the server's certificate is not trusted; see the cluster's certificate authority file",
  WrongName:
    "the server's certificate is for another name; see the cluster's server address, or say the name (tls-server-name in a kubeconfig, tlsServerName in an entry)",
  NotHttp2: "the server does not speak HTTP/2 there; see whether a proxy stands in between",
  ConnectFailed: "no connection could be made; see the network and the address",
  ConnectTimedOut:
    "no connection could be made in time; see the network and whether something on the way drops packets",
  ConnectionLost: "the connection was lost before the answer was complete",
  TimedOut: "no complete answer in time",
  Aborted: "given up by the caller",
  AnswerTooLarge: "the answer is larger than the limit",
  QueueFull: "too many requests are waiting already",
  CredentialUnavailable: "no credential could be had; see the cluster's signIn entry",
  Closed: "the transport was closed",
};

const EXCESS_WORDS: Readonly<Record<Excess, string>> = {
  bytes: "the answer has more bytes than the limit",
  values: "the answer has more JSON values than the limit",
  pieces: "the answer comes in thousands of pieces of a few bytes",
};

const TRUST_CODES = /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_CA)/;

/** Returns the code of a connection error. */
export function connectCode(error: unknown): UnreachableCode {
  const code = getSystemCode(error) ?? "";
  if (code === "ECONNREFUSED") return "ConnectionRefused";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "UnknownHost";
  if (code === "ERR_ADDRESS_REFUSED") return "AddressRefused";
  if (code === "ETIMEDOUT") return "ConnectTimedOut";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return "WrongName";
  if (code === "ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL") return "NotHttp2";
  return TRUST_CODES.test(code) ? "NotTrusted" : "ConnectFailed";
}

/** Returns the `code` that Node gave an error, if any. */
export function getSystemCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/**
 * The limits on what one cluster may send; stable, because metrics, log lines and `/readyz` name them. Each
 * is the key in the cluster's `limits`, if it has one.
 */
export type LimitName =
  /** Objects of one resource that the relay follows. */
  | "objects"
  /** Objects of a page, as many as requested. */
  | "pageItems"
  | "pageBytes"
  /** JSON values of a page. */
  | "pageValues"
  /** Bytes of a whole list. */
  | "listBytes"
  | "listPages"
  | "listSeconds"
  | "watchLineBytes"
  /** JSON values of one watch line. */
  | "watchLineValues"
  /** Tiny chunks of a watch. */
  | "watchPieces"
  /** Tiny chunks of an answer. */
  | "answerPieces"
  /** Watch events a second. */
  | "watchPace"
  | "malformedObjects"
  /** Bytes of the answer to a write, or of a single object. */
  | "answerBytes"
  | "logLines"
  | "unresponsive";

/** A limit in force: some data of the cluster are left out or wait because of it. */
export interface LimitInForce {
  readonly limit: LimitName;
  /** The limit reached, and its effect. */
  readonly message: string;
}
