/** A cause within a Status' details, as validation and preconditions report them. */
export interface StatusCause {
  readonly reason: string;
  readonly message: string;
  readonly field?: string;
}

/** Kubernetes' answer to a request that yields no object. */
export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: { readonly continue?: string };
  readonly status: "Failure" | "Success";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code?: number;
}

/** What a Status is about. */
export interface StatusDetails {
  readonly name?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/** Thrown anywhere while a request is handled, and answered with its Status: every refusal is one of those below. */
export class Refusal extends Error {
  readonly code: number;
  readonly status: Status;

  constructor(code: number, reason: string | undefined, message: string, more: RefusalFields = {}) {
    super(message);
    this.code = code;
    this.status = {
      kind: "Status",
      apiVersion: "v1",
      metadata: more.continue === undefined ? {} : { continue: more.continue },
      status: "Failure",
      message,
      ...(reason === undefined ? {} : { reason }),
      ...(more.details === undefined ? {} : { details: more.details }),
      code,
    };
  }
}

interface RefusalFields {
  readonly details?: StatusDetails;
  /** The token with which a list may go on inconsistently. */
  readonly continue?: string;
}

/** The wordings below are kube-apiserver 1.36's. */
export const unauthorized = (): Refusal => new Refusal(401, "Unauthorized", "Unauthorized");

export const badRequest = (message: string): Refusal => new Refusal(400, "BadRequest", message);

export const notFound = (resource: string, name: string): Refusal =>
  new Refusal(404, "NotFound", `${resource} "${name}" not found`, { details: { name, kind: resource } });

export const noSuchResource = (): Refusal =>
  new Refusal(404, "NotFound", "the server could not find the requested resource", { details: {} });

export const methodNotAllowed = (): Refusal =>
  new Refusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {
    details: {},
  });

export const notAcceptable = (message: string, detailed: boolean): Refusal =>
  new Refusal(406, "NotAcceptable", message, detailed ? { details: {} } : {});

export const unsupportedMediaType = (): Refusal =>
  new Refusal(415, "UnsupportedMediaType", "415: Unsupported Media Type", { details: {} });

export const alreadyExists = (resource: string, name: string): Refusal =>
  new Refusal(409, "AlreadyExists", `${resource} "${name}" already exists`, {
    details: { name, kind: resource },
  });

/** `what` is the resource, but the kind where a precondition of a deletion failed. */
export const conflict = (what: string, name: string, because: string): Refusal =>
  new Refusal(409, "Conflict", `Operation cannot be fulfilled on ${what} "${name}": ${because}`, {
    details: { name, kind: what },
  });

/** The answer to a JSON patch that does not apply, a failed `test` included: the server does not say which operation. */
export const patchDoesNotApply = (): Refusal =>
  new Refusal(422, "Invalid", "the server rejected our request due to an error in our request", {
    details: {},
  });

/** A patch applied, but its result is not of the resource's types. */
export const patchedOutOfShape = (document: unknown, fault: string): Refusal => {
  const message = `Invalid value: ${JSON.stringify(JSON.stringify(document))}: ${fault}`;
  return new Refusal(422, "Invalid", ` "" is invalid: patch: ${message}`, {
    details: { causes: [{ reason: "FieldValueInvalid", message, field: "patch" }] },
  });
};

export const invalid = (kind: string, name: string, causes: readonly StatusCause[]): Refusal => {
  const faults = causes.map((cause) => `${cause.field}: ${cause.message}`);
  const listed = faults.length === 1 ? faults[0] : `[${faults.join(", ")}]`;
  return new Refusal(422, "Invalid", `${kind} "${name}" is invalid: ${listed}`, {
    details: { ...(name === "" ? {} : { name }), kind, causes },
  });
};

export const expired = (message: string, token?: string): Refusal =>
  new Refusal(410, "Expired", message, token === undefined ? {} : { continue: token });

export const versionTooLarge = (asked: number, current: number): Refusal =>
  new Refusal(504, "Timeout", `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
  });
