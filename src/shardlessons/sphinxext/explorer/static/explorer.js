/* The explorer: shows the recorded answer to what the form asks. It computes no
   answer: it looks one up by its choice, in the piece that has it. */
{
  const explorer = document.querySelector(".explorer");
  const form = explorer.querySelector("form");
  const find = (name) => explorer.querySelector(name);
  const said = find(".explorer-said");
  const answer = find(".explorer-answer");
  const code = find(".explorer-code").querySelector("pre");
  const specs = find(".explorer-specs");
  const offered = JSON.parse(find(".explorer-offered").textContent);
  const { pieces, version } = explorer.dataset;

  const fetched = new Map();
  const load = (name) => {
    if (!fetched.has(name)) {
      const piece = fetch(`${pieces}${name}.json?v=${version}`).then((response) => {
        if (!response.ok) throw new Error(`${response.status} for ${name}`);
        return response.json();
      });
      piece.catch(() => fetched.delete(name)); // so that a reader can try again
      fetched.set(name, piece);
    }
    return fetched.get(name);
  };

  const element = (tag, text, ...children) => {
    const made = document.createElement(tag);
    made.append(text, ...children);
    return made;
  };

  /* The specs that the operation's arguments can have on the mesh; what was
     chosen stays where it can. */
  const offer = (chosen) => {
    const { shapes, specs: choices } = offered.operations[form.operation.value];
    const labels = Object.entries(choices[form.mesh.value]).map(([name, tokens]) => {
      const select = element("select", "");
      select.name = name;
      for (const token of tokens) {
        select.append(new Option(offered.labels[token], token));
      }
      select.value = tokens.includes(chosen[name]) ? chosen[name] : tokens[0];
      const size = element("small", `(${shapes[name].join(", ")})`);
      return element("label", element("span", `${name} `, size), select);
    });
    specs.replaceChildren(specs.firstElementChild, ...labels);
  };

  let latest = 0;
  const show = async () => {
    const choice = Object.fromEntries(new FormData(form));
    const { operation, mesh, chip, ...chosen } = choice;
    const turn = ++latest;
    history.replaceState(null, "", `?${new URLSearchParams(choice)}`);
    answer.ariaBusy = "true";
    try {
      const [piece, tiles] = await Promise.all([
        load(`${operation}.${mesh}.${chip}`),
        load(`${operation}.${mesh}.tiles`),
      ]);
      if (turn !== latest) return;
      const found = piece.answers[Object.values(chosen).join("/")];
      if (found.error) {
        const error = element("pre", found.error);
        find(".explorer-report").replaceChildren(error);
      } else {
        find(".explorer-report").innerHTML = found.html;
      }
      find(".explorer-tiles").replaceChildren(
        ...(found.tiles ?? []).map(([path, spec, picture]) => {
          const caption = element("figcaption", element("code", path), " under ", element("code", spec));
          const figure = element("figure", caption);
          figure.insertAdjacentHTML("beforeend", tiles[picture]);
          return figure;
        }),
      );
      code.textContent = piece.code.replace(/\{(\w+)\}/g, (all, name) =>
        name in chosen ? offered.labels[chosen[name]] : all,
      );
      said.textContent = found.said;
    } catch (error) {
      if (turn === latest) said.textContent = `The answer could not be fetched: ${error.message}. Choose again to try again.`;
    } finally {
      if (turn === latest) answer.ariaBusy = "false";
    }
  };

  form.addEventListener("change", (event) => {
    const { operation, mesh, chip, ...chosen } = Object.fromEntries(new FormData(form));
    if (["operation", "mesh"].includes(event.target.name)) offer(chosen);
    show();
  });
  form.addEventListener("submit", (event) => event.preventDefault());

  find(".explorer-code").querySelector("button").addEventListener("click", async (event) => {
    await navigator.clipboard.writeText(code.textContent);
    said.textContent = "The code is copied.";
  });

  /* An address that has a choice in it; one that nothing offers changes nothing. */
  const asked = Object.fromEntries(new URLSearchParams(location.search));
  const has = (name) =>
    [...form.elements].some((one) => one.name === name && !one.disabled &&
      (one.options ? [...one.options].some((option) => option.value === asked[name]) : one.value === asked[name]));
  if (has("operation") && has("mesh") && has("chip")) {
    for (const name of ["operation", "mesh", "chip"]) form.elements[name].value = asked[name];
    offer(asked);
    show();
  }
}
