/** What of a cloud's machine is needed to find it; whatever else there is of it, its cloud knows. */
export interface Machine {
  readonly id: string;
  readonly name: string;
}
