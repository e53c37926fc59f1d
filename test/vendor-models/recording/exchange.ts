/** One request that reached an emulated cloud and its answer, as a line of a recording. */
export interface Exchange {
  /** The test file, relative to the project, and the test that sent it. */
  readonly file: string;
  readonly test: string;
  readonly method: string;
  /** Path and query as sent. */
  readonly target: string;
  /** By lower-case name. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  /** The body as sent; empty without one. */
  readonly requestBody: string;
  /** 0 if the connection ended without an answer. */
  readonly status: number;
  /** By lower-case name. */
  readonly answerHeaders: Readonly<Record<string, string>>;
  /** The body as answered; empty without one. */
  readonly answerBody: string;
}

/** The environment variable with the folder of a recording; each worker of the recorded run writes a file there. */
export const RECORDING_FOLDER = "VENDOR_MODELS_RECORDING";
