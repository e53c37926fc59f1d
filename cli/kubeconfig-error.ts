/** Why a kubeconfig cannot be used. */
export class KubeconfigError extends Error {
  readonly code = "KUBECONFIG";
  readonly file: string;

  constructor(file: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "KubeconfigError";
    this.file = file;
  }
}
