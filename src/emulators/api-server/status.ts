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

/** The object of a Status. */
export interface StatusDetails {
  readonly name?: string;
  /** Absent for the core group. */
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/**
 * A rejection, thrown while a request is handled and answered with its Status. The functions below create all
 * of them.
 */
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
  /** The token for an inconsistent continuation of a list. */
  readonly continue?: string;
}

/** A resource by its plural, or a kind, with its API group: empty for the core group. */
export interface Subject {
  readonly group: string;
  readonly name: string;
}

/** Returns the name as messages have it, such as `leases.coordination.k8s.io`. */
function formatSubject({ group, name }: Subject): string {
  return group === "" ? name : `${name}.${group}`;
}

/** Returns the members of a Status' details that name the subject and one object of it. */
function describeSubject({ group, name: kind }: Subject, name: string): StatusDetails {
  return {
    ...(name === "" ? {} : { name }),
    ...(group === "" ? {} : { group }),
    ...(kind === "" ? {} : { kind }),
  };
}

/** The wordings below are those of kube-apiserver 1.36. */
export const createUnauthorized = (): Refusal => new Refusal(401, "Unauthorized", "Unauthorized");

export const createBadRequest = (message: string): Refusal => new Refusal(400, "BadRequest", message);

export const createNotFound = (subject: Subject, name: string): Refusal =>
  new Refusal(404, "NotFound", `${formatSubject(subject)} "${name}" not found`, {
    details: describeSubject(subject, name),
  });

export const createNoSuchResource = (): Refusal =>
  new Refusal(404, "NotFound", "the server could not find the requested resource", { details: {} });

export const createMethodNotAllowed = (): Refusal =>
  new Refusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {
    details: {},
  });

export const createNotAcceptable = (message: string, detailed: boolean): Refusal =>
  new Refusal(406, "NotAcceptable", message, detailed ? { details: {} } : {});

export const createUnsupportedMediaType = (): Refusal =>
  new Refusal(415, "UnsupportedMediaType", "415: Unsupported Media Type", { details: {} });

export const createAlreadyExists = (subject: Subject, name: string): Refusal =>
  new Refusal(409, "AlreadyExists", `${formatSubject(subject)} "${name}" already exists`, {
    details: describeSubject(subject, name),
  });

/** The subject is the resource, but the kind if a precondition of a deletion failed. */
export const createConflict = (subject: Subject, name: string, because: string): Refusal =>
  new Refusal(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${formatSubject(subject)} "${name}": ${because}`,
    { details: describeSubject(subject, name) },
  );

/**
 * Creates the answer to a JSON patch that does not apply, including a failed `test`: the server does not name
 * the operation.
 */
export const patchDoesNotApply = (): Refusal =>
  new Refusal(422, "Invalid", "the server rejected our request due to an error in our request", {
    details: {},
  });

/** Creates the answer to a patch that applied, but whose result does not match the resource's types. */
export const createInvalidPatchResult = (document: unknown, fault: string): Refusal => {
  const message = `Invalid value: ${JSON.stringify(JSON.stringify(document))}: ${fault}`;
  return new Refusal(422, "Invalid", ` "" is invalid: patch: ${message}`, {
    details: { causes: [{ reason: "FieldValueInvalid", message, field: "patch" }] },
  });
};

export const createInvalid = (subject: Subject, name: string, causes: readonly StatusCause[]): Refusal => {
  const faults = causes.map((cause) => `${cause.field}: ${cause.message}`);
  const listed = faults.length === 1 ? faults[0] : `[${faults.join(", ")}]`;
  return new Refusal(422, "Invalid", `${formatSubject(subject)} "${name}" is invalid: ${listed}`, {
    details: { ...describeSubject(subject, name), causes },
  });
};

export const createForbidden = (subject: Subject, name: string | undefined, because: string): Refusal => {
  const object = name === undefined ? formatSubject(subject) : `${formatSubject(subject)} "${name}"`;
  return new Refusal(403, "Forbidden", `${object} is forbidden: ${because}`, {
    details: describeSubject(subject, name ?? ""),
  });
};

export const createExpired = (message: string, token?: string): Refusal =>
  new Refusal(410, "Expired", message, token === undefined ? {} : { continue: token });

export const createVersionTooLarge = (asked: number, current: number): Refusal =>
  new Refusal(504, "Timeout", `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
  });
