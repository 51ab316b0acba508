'use strict';
// The page of `trainlab find`. `data` is the object of its --json.

const questions = {
  lr: 'A rate',
  batch: 'A batch',
  loader: 'A loader',
  optimizer: 'An optimizer'
};

page.replaceChildren();
const title = `${questions[foundIn(data)]} for ${data.stage} of ${data.recipe}`;
document.title = title;
make(page, 'h1', title);
if (data.note) make(page, 'p', `${data.note} was searched for`, {class: 'quiet'});
finding(page, data);
show();
