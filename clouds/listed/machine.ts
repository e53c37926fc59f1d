/** The fields of a cloud's machine that the search needs; its cloud knows the rest. */
export interface Machine {
  readonly id: string;
  readonly name: string;
}
